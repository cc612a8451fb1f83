// WAIT and KEEP: a request that cannot be granted takes a place in the queue. The place waits while
// the request waits, and is kept for the duration of KEEP after that. If the connection closes, a
// place without KEEP is skipped, and ends after the reconnect grace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "server/engine/api/effects.h"
#include "server/engine/api/requests.h"
#include "server/engine/rules/rule.h"

namespace fairlock::engine {

class Places : Rule {
 public:
  using Rule::Rule;

  void Join(Claim& place, const LockRequest& request, Attachment& from, TimeMs now);
  // Marks a value that was denied: its place is skipped until the value is requested again within
  // its KEEP.
  void Mark(Claim& place, TimeMs now);
  void LogPlace(Claim& place);  // call this if the place is new, or its options have changed
  DurationMs WaitOf(const LockRequest& request) const {
    if (state_.is_in_transaction) return 0;
    return request.notify && request.wait_ms == 0 ? kForever : request.wait_ms;
  }
  void AwaitOrKeep(Claim& place, const LockRequest& request, Attachment& from, TimeMs now);
  // With NOTIFY: remembers the WAIT, because the place waits again if its grant is undone.
  void RememberWait(Claim& place, const LockRequest& request, TimeMs now);
  // From now on, the request of the place waits on that connection or channel.
  void Await(Claim& place, Attachment& on, TimeMs end);
  void Keep(Claim& place, TimeMs now);
  void Skip(Claim& place, TimeMs now);
  void Grant(Claim& place, Attachment* to, TimeMs now);
  // The connection or channel on which the request waits has closed: keeps the place, skips it, or
  // ends it.
  void LoseRequest(Claim& place, TimeMs now);
  // Call this when the grant of the place did not reach its owner and the place is back in the
  // queue.
  void LoseDelivery(Claim& place, TimeMs now);
  // Turns a hold whose grant was undone into the place that it was before.
  void Return(Claim& hold, TimeMs now);

 private:
  TimeMs WaitEndOf(const LockRequest& request, TimeMs now) const;
  void GrantClaim(Claim& claim, Token token, Attachment* to, TimeMs now);
};

// SET NX: a value that is denied is marked. If it is requested again within the keep time of its
// key, it gets a place that dates from its first request. Each further request prolongs the place.
class ValuePlaces : Rule {
 public:
  using Rule::Rule;

  LockResult AskAgain(std::uint64_t hash, Claim& place, const LockRequest& request,
                      Attachment& from, Step step);
  void Mark(LockEntry& lock, const LockRequest& request, const Attachment& from, TimeMs now);
  // How long the place of a SET NX is kept after its request; 0: it gets no place.
  DurationMs KeepOfValues(std::string_view key) const {
    const DurationMs keep_ms = state_.options.keep_rules.KeepOf(key);
    return std::min(keep_ms, state_.options.keep_ms_max);
  }
};

}  // namespace fairlock::engine
