// The metrics page for Prometheus.
#pragma once

#include <memory>
#include <string>

#include "server/command/server_parts.h"
#include "server/http/lock_survey.h"
#include "server/http/shared_answers.h"

namespace fairlock::http {

// Returns the page in text format 0.0.4. Its size does not depend on the number of keys, owners or
// connections. It is below 64 KB, because LabelTotals limits the number of series with a label.
std::string MetricsPage(command::ServerParts& server, const LockSurvey& survey, engine::TimeMs now);

// Returns work that surveys all locks and then makes the page.
std::unique_ptr<SharedWork> MakeMetricsPage(command::ServerParts& server);

}  // namespace fairlock::http
