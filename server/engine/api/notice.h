// What is told on the channel of a LOCK with NOTIFY.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "server/engine/api/effects.h"
#include "server/engine/api/event.h"
#include "server/engine/api/types.h"

namespace fairlock::engine {

// Either how a request that waited has ended, or that a hold has ended otherwise than by its owner.
// All views are valid for the call only.
struct Notice {
  std::string_view channel;
  ResolutionKind outcome = ResolutionKind::kGranted;  // not if a hold is lost
  std::optional<EventKind> loss = {};                 // how the hold ended
  KeyName key = {};                                   // of an outcome of MLOCK its first
  std::span<const std::string_view> keys = {};        // of an outcome of MLOCK all
  std::uint64_t key_hash = 0;
  std::string_view owner = {};
  std::string_view by = {};  // kReplaced: the owner that took the place
  Token token = 0;           // of a grant or a hold
  DurationMs waited_ms = 0;  // of an outcome
  DurationMs held_ms = 0;    // of a loss
};

// Told in the order in which things happen, in the middle of the engine's work: must not call the
// engine. A grant is unconfirmed until the message with its token was handed over (UndoGrant).
class NoticeSink {
 public:
  virtual void Take(const Notice& notice) = 0;

 protected:
  ~NoticeSink() = default;
};

}  // namespace fairlock::engine
