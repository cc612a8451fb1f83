// Reads options from a YAML file.
#pragma once

#include <string>

#include "server/config/config.h"

namespace fairlock::server {

// Sets what the file says and leaves the rest. Empty: done. Else the first thing that is wrong,
// with file, line, option, value and what would be right.
[[nodiscard]] std::string ReadConfigFile(const std::string& path, Config& config);

// The same for text that is at hand; `name` stands for the file in messages.
[[nodiscard]] std::string ReadConfigText(const std::string& text, const std::string& name,
                                         Config& config);

}  // namespace fairlock::server
