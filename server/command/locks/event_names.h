// Finds kinds of events, and reasons, by the names that replies and messages give them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/engine/api/event.h"
#include "server/record/event_kinds.h"

namespace fairlock::command {

// Two kinds are called "cancelled"; one of them has the reason "replaced".
std::optional<engine::EventKind> EventKindOf(std::string_view name, bool is_replaced);
// kNone: there is no such reason.
engine::DenialReason DenialReasonOf(std::string_view name);

// The kinds in a list such as "expired,broken"; nullopt if a name is unknown.
std::optional<record::EventKinds> EventKindsIn(std::string_view names);
// "granted, reacquired, ...".
std::string AllEventNames();

}  // namespace fairlock::command
