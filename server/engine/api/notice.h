// The notices that are published on the channel of a LOCK with NOTIFY.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "server/engine/api/effects.h"
#include "server/engine/api/event.h"
#include "server/engine/api/types.h"

namespace fairlock::engine {

// Reports either how a waiting request ended, or that a hold was ended by something other than its
// owner. The views are valid only during the call.
struct Notice {
  std::string_view channel;
  ResolutionKind outcome = ResolutionKind::kGranted;  // meaningless if `loss` is set
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

// The engine calls the sink as things happen, in the middle of its own work, so the sink must not
// call the engine. A grant is unconfirmed until the message with its token has been delivered; if
// it is not delivered, the grant is undone by UndoGrant.
class NoticeSink {
 public:
  virtual void Take(const Notice& notice) = 0;

 protected:
  ~NoticeSink() = default;
};

}  // namespace fairlock::engine
