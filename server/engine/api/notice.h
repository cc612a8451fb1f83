// What is published on the channel of a LOCK with NOTIFY.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "server/engine/api/effects.h"
#include "server/engine/api/event.h"
#include "server/engine/api/types.h"

namespace fairlock::engine {

// Either how a waiting request has ended, or that a hold was ended by something other than its
// owner. The views are valid only during the call.
struct Notice {
  std::string_view channel;
  ResolutionKind outcome = ResolutionKind::kGranted;  // not used if a hold is lost
  std::optional<EventKind> loss = {};                 // how the hold ended
  KeyName key = {};                                   // for an outcome of MLOCK, its first key
  std::span<const std::string_view> keys = {};        // for an outcome of MLOCK, all its keys
  std::uint64_t key_hash = 0;
  std::string_view owner = {};
  std::string_view by = {};  // kReplaced: the owner that took the place
  Token token = 0;           // for a grant or the loss of a hold
  DurationMs waited_ms = 0;  // for an outcome
  DurationMs held_ms = 0;    // for a loss
};

// The engine calls it in the order in which things happen, in the middle of its work: it must not
// call the engine. A grant is unconfirmed until the message with its token has been delivered
// (UndoGrant).
class NoticeSink {
 public:
  virtual void Take(const Notice& notice) = 0;

 protected:
  ~NoticeSink() = default;
};

}  // namespace fairlock::engine
