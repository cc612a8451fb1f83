// ~/.config/fairlock/ctl.yaml.
#pragma once

#include <string>

#include "cli/base/result.h"
#include "cli/connection/settings.h"

namespace fairlock::cli {

// The settings in `text`; `path` names it in messages.
Result<SettingSource> ReadSettingsText(const std::string& text, const std::string& path);

// The same of a file. One that does not exist says nothing, unless `must_exist`.
Result<SettingSource> ReadSettingsFile(const std::string& path, bool must_exist);

// Where the file is if nobody says otherwise: below XDG_CONFIG_HOME, or ~/.config. Empty: neither
// is known.
std::string DefaultSettingsPath(const std::function<const char*(const char* name)>& read_variable);

// The first line of the file, without its end.
Result<std::string> ReadPasswordFile(const std::string& path);

}  // namespace fairlock::cli
