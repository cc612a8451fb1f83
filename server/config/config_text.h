// Documentation of the options: the configuration file and the help text.
#pragma once

#include <string>

#include "server/config/config.h"

namespace fairlock::server {

// A configuration file with every option, the values it allows and its comment.
std::string ConfigFileText(const Config& config);

// What --help prints.
std::string HelpText();

}  // namespace fairlock::server
