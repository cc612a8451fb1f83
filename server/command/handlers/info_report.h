// The report of INFO in sections: what the server is, does and has done.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/command/server_parts.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

// Lines of "name:value" under a heading for each section asked for, in any case; without arguments,
// the sections that Redis clients expect. "all" and "everything" add the long ones. Unknown
// sections are ignored. `shows_patterns`: lists the overrides of LIMIT, whose patterns name keys;
// otherwise only counts them.
std::string InfoReport(std::span<const std::string_view> sections, ServerParts& server,
                       bool shows_patterns, engine::TimeMs now);

}  // namespace fairlock::command
