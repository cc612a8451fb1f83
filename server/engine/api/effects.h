// What a step of the engine does to others than its caller: answers to requests that waited.
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
  kDeadlock,      // only in a Notice: when its channel was open again the wait would never end
  kWatchEnded,    // WAIT key: no hold of that time remains
  kWatchTimedOut  // WAIT key: time-out
};

// The answer to one request that was told kQueued or kWaiting. Each such request gets exactly one,
// unless its attachment is detached before.
struct Resolution {
  Attachment* to = nullptr;
  ResolutionKind kind = ResolutionKind::kGranted;
  Token token = 0;
  std::uint64_t key_hash = 0;  // for kGranted: what UndoGrant asks for
  std::string_view by =
      {};  // for kReplaced: valid as long as the request, or the step, that caused it
};

// Appended to by the engine in the order in which things happen; emptied by the caller.
struct Effects {
  std::vector<Resolution> resolutions;
};

}  // namespace fairlock::engine
