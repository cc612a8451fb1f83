// Generates the documentation of the options: the configuration file and the help text.
#pragma once

#include <string>

#include "server/config/config.h"

namespace fairlock::server {

// Returns a configuration file that contains every option with its comment and its allowed values.
std::string ConfigFileText(const Config& config);

// Returns what --help prints.
std::string HelpText();

}  // namespace fairlock::server
