// Writes the report of INFO in sections: what the server is, does and has done.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/command/server_parts.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

// Returns lines of "name:value" under a heading for each requested section; the names of sections
// are case-insensitive. Without arguments, returns the sections that Redis clients expect. "all"
// and "everything" add the long sections. Unknown sections are ignored. If `shows_patterns` is set,
// lists the overrides of LIMIT, whose patterns name keys; otherwise only counts them.
std::string InfoReport(std::span<const std::string_view> sections, ServerParts& server,
                       bool shows_patterns, engine::TimeMs now);

}  // namespace fairlock::command
