// What a step of the engine means for clients other than its caller: replies to waiting requests.
#pragma once

#include <string_view>
#include <vector>

#include "server/engine/api/types.h"
#include "server/engine/containers/time.h"

namespace fairlock::engine {

class Attachment;

enum class ResolutionKind : std::uint8_t {
  kGranted,     // a waiting LOCK: `token`
  kTimedOut,    // a waiting LOCK: its WAIT is over
  kCancelled,   // a waiting LOCK: CANCEL or UNLOCK ended its place
  kReplaced,    // a waiting LOCK: a request with REPLACE, by the owner `by`, took its place
  kSuperseded,  // a waiting LOCK: a later LOCK of the same owner took over its place
  kDeadlock,  // only in a Notice: if it waited again on its reopened channel, it would wait forever
  kWatchEnded,    // WAIT key: none of the holds present when it began remains
  kWatchTimedOut  // WAIT key: time-out
};

// The reply to one request that got kQueued or kWaiting. Each such request gets exactly one reply,
// unless its attachment is detached first.
struct Resolution {
  Attachment* to = nullptr;
  ResolutionKind kind = ResolutionKind::kGranted;
  Token token = 0;
  std::uint64_t key_hash = 0;  // for kGranted: the argument of UndoGrant
  std::string_view by = {};    // for kReplaced: valid during the request or step that caused it
};

// The engine appends effects in the order in which they happen; the caller empties the list.
struct Effects {
  std::vector<Resolution> resolutions;
};

// The time and the effects of one call of the engine.
//
// Passed by value, because it fits into two registers.
struct Step {
  TimeMs now;
  Effects& effects;
};

}  // namespace fairlock::engine
