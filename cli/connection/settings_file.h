// Reads ~/.config/fairlock/ctl.yaml and password files.
#pragma once

#include <string>

#include "cli/base/result.h"
#include "cli/connection/settings.h"

namespace fairlock::cli {

// Parses settings; `path` is used in error messages.
Result<SettingSource> ReadSettingsText(const std::string& text, const std::string& path);

// Reads settings from a file. A missing file is an error only if `must_exist`.
Result<SettingSource> ReadSettingsFile(const std::string& path, bool must_exist);

// The default path of the settings file: in XDG_CONFIG_HOME, or in ~/.config. Empty if neither is
// known.
std::string DefaultSettingsPath(const std::function<const char*(const char* name)>& read_variable);

// Reads the first line of the file, without its newline.
Result<std::string> ReadPasswordFile(const std::string& path);

}  // namespace fairlock::cli
