// Reads options from a YAML file.
#pragma once

#include <string>
#include <string_view>

#include "server/config/config.h"

namespace fairlock::server {

// Sets the options that are in the file and leaves the others unchanged. Returns an empty string,
// or the first error with file, line, option, value and allowed values.
[[nodiscard]] std::string ReadConfigFile(const std::string& path, Config& config);

// Does the same for a string in memory, which error messages call `name`.
[[nodiscard]] std::string ReadConfigText(const std::string& text, const std::string& name,
                                         Config& config);

// Returns why the content of that file must not be trusted: any user of the machine may write to
// it. Empty: it may be trusted, or it cannot be examined, which reading it reports. `what` begins
// the text.
[[nodiscard]] std::string WhyUntrusted(std::string_view what, const std::string& path);

// Does the same for each file that an option names (OptionType::kFile).
[[nodiscard]] std::string CheckFiles(const Config& config);

}  // namespace fairlock::server
