// LOCK by a waiting owner: the later request takes over the place with its own options; the earlier
// request is answered as superseded.
#pragma once

#include <cstdint>

#include "server/engine/api/effects.h"
#include "server/engine/api/requests.h"
#include "server/engine/rules/rule.h"

namespace fairlock::engine {

class RepeatedRequests : Rule {
 public:
  using Rule::Rule;

  // `place` is any claim of the owner's place.
  LockResult Repeat(Claim& place, const LockRequest& request, Attachment& from, Step step);

 private:
  LockResult GrantPlace(Claim& place, const LockRequest& request, Attachment& from, Step step);
  void Supersede(Claim& place, const LockRequest& request, Step step);
  bool HasOptions(const Claim& place, const LockRequest& request) const;
};

// LOCK by the holder: the owner keeps its hold and token, its lease is never shortened, and the
// options of the repeated request replace those of the hold.
class RepeatedHolds : Rule {
 public:
  using Rule::Rule;

  static bool Covers(const Mode& held, const Mode& asked);
  Hold& Reacquire(std::uint64_t hash, LockEntry& lock, Hold& held, const LockRequest& request,
                  Attachment& from, TimeMs now);

 private:
  void BindSession(Claim& hold, const Attachment* channel_before, const LockRequest& request,
                   Attachment& from);
  void ProlongByRepeat(LockEntry& lock, Hold& hold, TimeMs end_before, const LockRequest& request,
                       TimeMs now);
  bool BringsOptions(const Hold& hold, const LockRequest& request) const;
};

}  // namespace fairlock::engine
