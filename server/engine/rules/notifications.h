// NOTIFY: requests wait on a channel instead of a connection while the channel has a subscriber.
// When the last subscriber leaves, their places become absent as if their connection had closed;
// when a subscriber returns, they wait again.
#pragma once

#include <string_view>
#include <vector>

#include "server/engine/api/effects.h"
#include "server/engine/rules/rule.h"
#include "server/engine/state/multi_lock.h"

namespace fairlock::engine {

class Notifications : Rule {
 public:
  using Rule::Rule;

  // Open: the channel now has a subscriber, so the owners of its absent places are back. Close: its
  // last subscriber has left, so its places stay for KEEP or for the reconnect grace, and sessions
  // bound to it end or run through their grace; undo grants that reached no subscriber afterwards.
  // O(places of the channel).
  void Open(std::string_view name, Step step);
  void Close(std::string_view name, Step step);
  // False: no hold and no place names the channel, so opening and closing it have no effect.
  bool Knows(std::string_view name) const { return state_.channels.Find(name) != nullptr; }

 private:
  // Sorts the places by arrival and returns their locks in that order, each lock once.
  static std::vector<LockEntry*> LocksByArrival(Attachment::List& places);
  void ReturnToWait(Claim& place, Step step);
  // Grants what is possible on all the locks, and calls Expiry::End.
  void GrantAll(LockSpan locks, Step step);
};

}  // namespace fairlock::engine
