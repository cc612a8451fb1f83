// All figures, as Prometheus reads them.
#pragma once

#include <string>

#include "server/command/dispatcher.h"

namespace fairlock::http {

// The text format 0.0.4. Its size does not depend on the number of keys, owners or connections.
std::string MetricsPage(command::Dispatcher& dispatcher, engine::TimeMs now);

}  // namespace fairlock::http
