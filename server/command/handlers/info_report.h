// The report of INFO: what the server is, does and has done, by sections.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/command/server_parts.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

// Lines of "name:value" under a heading for each section asked for, whatever its case; none asked
// for: those that Redis' clients expect. "all" and "everything" add what is long. Unknown sections
// are left out. `shows_patterns`: overrides of LIMIT, which name keys, are listed; else only
// counted.
std::string InfoReport(std::span<const std::string_view> sections, ServerParts& server,
                       bool shows_patterns, engine::TimeMs now);

}  // namespace fairlock::command
