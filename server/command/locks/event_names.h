// Finds kinds of events, and reasons, by the names that replies and messages give them; and what a
// lock itself tells about events that the history has forgotten.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/engine/api/effects.h"
#include "server/engine/api/event.h"
#include "server/engine/lock_engine.h"
#include "server/record/event_kinds.h"
#include "server/record/history.h"

namespace fairlock::command {

// Two kinds are called "cancelled"; one of them has the reason "replaced".
std::optional<engine::EventKind> EventKindOf(std::string_view name, bool is_replaced);
// kNone: there is no such reason.
engine::DenialReason DenialReasonOf(std::string_view name);

// The kinds in a list such as "expired,broken"; nullopt if a name is unknown.
std::optional<record::EventKinds> EventKindsIn(std::string_view names);
// "granted, reacquired, ...".
std::string AllEventNames();

inline constexpr std::size_t kLiveEventsMax = 200;

// Adds to the last page of a search for one key the grants of present holds and the arrivals of
// present places that match the query, but happened before the time since which the history is
// complete: of at most half of kLiveEventsMax holds, and as many places. So the events that led to
// the present state of a lock remain known, however much happens to other locks, and take no memory
// beside the lock. The page grows to at most the query's count_max. REQUIRES: nothing is due on the
// key. The views of the page are valid until the next call that may change the engine.
void AddLiveEvents(engine::LockEngine& engine, const record::HistoryQuery& query,
                   const record::KnownSince& known, engine::Step step, record::HistoryPage& page);

}  // namespace fairlock::command
