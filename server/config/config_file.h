// Reads options from a YAML file.
#pragma once

#include <string>

#include "server/config/config.h"

namespace fairlock::server {

// Sets the options that are in the file and leaves the others unchanged. Returns an empty string,
// or the first error with file, line, option, value and allowed values.
[[nodiscard]] std::string ReadConfigFile(const std::string& path, Config& config);

// Does the same for a string in memory, which error messages call `name`.
[[nodiscard]] std::string ReadConfigText(const std::string& text, const std::string& name,
                                         Config& config);

}  // namespace fairlock::server
