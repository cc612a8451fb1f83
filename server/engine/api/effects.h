// What a step of the engine means for others than its caller: replies to waiting requests.
#pragma once

#include <string_view>
#include <vector>

#include "server/engine/api/types.h"

namespace fairlock::engine {

class Attachment;

enum class ResolutionKind : std::uint8_t {
  kGranted,       // a waiting LOCK: `token`
  kTimedOut,      // a waiting LOCK: its WAIT is over
  kCancelled,     // a waiting LOCK: CANCEL or UNLOCK ended its place
  kReplaced,      // a waiting LOCK: a request with REPLACE, by the owner `by`, took its place
  kSuperseded,    // a waiting LOCK: a later LOCK of the same owner took over its place
  kDeadlock,      // only in a Notice: when its channel reopened, the wait would never have ended
  kWatchEnded,    // WAIT key: none of the holds present when it began remains
  kWatchTimedOut  // WAIT key: time-out
};

// The reply to one request that got kQueued or kWaiting. Each such request gets exactly one, unless
// its attachment is detached first.
struct Resolution {
  Attachment* to = nullptr;
  ResolutionKind kind = ResolutionKind::kGranted;
  Token token = 0;
  std::uint64_t key_hash = 0;  // for kGranted: the argument of UndoGrant
  std::string_view by =
      {};  // for kReplaced: valid as long as the request, or the step, that caused it
};

// The engine appends to it in the order in which things happen; the caller empties it.
struct Effects {
  std::vector<Resolution> resolutions;
};

}  // namespace fairlock::engine
