// Looks for a set of waiting requests, none of which could ever continue.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "server/engine/api/requests.h"
#include "server/engine/state/limit_overrides.h"
#include "server/engine/state/lock_entry.h"
#include "server/engine/state/slots.h"
#include "server/engine/state/waiting_requests.h"

namespace fairlock::engine {

// A request that is about to wait: the search finds out whether it would wait forever.
struct WaitQuestion {
  struct Key {
    const LockEntry* lock;
    std::uint64_t number = ~std::uint64_t{0};  // places with lower numbers are ahead
  };
  std::uint8_t db = 0;
  std::string_view owner;
  Mode mode;
  std::span<const Key> keys;
  const Claim* own = nullptr;  // the claim of the place that the owner may already have
  std::span<const Claim* const> leaving = {};  // claims of places that end before the request waits
};

// A request is stuck if, on one of its keys, a place ahead of it is stuck, or if it would get no
// slot even after every holder that is not stuck has left. The search first assumes that every
// request it finds is stuck, and then frees those that can continue. The following never count as
// stuck: requests without a connection, owners with several requests, overdue waits and leases,
// reservations, cooldowns, drains, and everything beyond the number of places and holds that the
// search may examine.
//
// An object can be used for one search. It does not change the engine's state. O(places and holds
// examined).
class DeadlockSearch {
 public:
  DeadlockSearch(const WaitingRequests& waiting, const LimitOverrides& overrides,
                 std::size_t steps_max, TimeMs now)
      : waiting_(waiting), overrides_(overrides), steps_left_(steps_max), now_(now) {}

  // Whether the request would be stuck.
  bool IsStuck(const WaitQuestion& question);
  // How many more places and holds it may examine.
  std::size_t steps_left() const { return steps_left_; }
  // REQUIRES: IsStuck returned true.
  void Describe(Deadlock& deadlock) const;

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = ~Index{0};

  struct Request {
    const Claim* claim;         // null: the asker's request, which has no claim yet
    Index keys_stuck = 0;       // the number of its keys on which it is stuck
    Index first_cause = kNone;  // the first of the waits that it causes, in a linked list
  };
  // The wait of a request on one of its keys.
  struct Wait {
    Index request;
    const LockEntry* lock;
    std::uint64_t number;
    Mode mode;
    Slots slots;  // the slots taken by stuck holders
    bool has_stuck_ahead = false;
    bool is_stuck = false;
  };
  // A stuck request that keeps another one waiting.
  struct Cause {
    Index request;
    Index wait;
    Index next;  // the next cause in the list of the same request
    bool is_held;
    Mode mode;  // the mode of the hold
  };

  bool Spend();
  bool IsOver(const TimerNode& node) const { return node.deadline() < now_; }
  bool IsLive(const Claim& claim) const;
  // The waiting request of that owner if it has exactly one; kNone: it has none, or several.
  Index RequestOfOwner(std::uint8_t db, std::string_view owner);
  void AddCause(Index request, Index wait, bool is_held, const Mode& mode);
  void AddRequest(const Claim* claim);
  void AddWait(Index request, const LockEntry& lock, std::uint64_t number, const Mode& mode);
  void Explore(Index request);
  void LookAtHolders(Index wait);
  void LookAtQueue(Index wait);
  bool IsAskerAhead(const Wait& wait) const;
  bool HasSlot(const Wait& wait) const;
  bool IsStuckOn(const Wait& wait) const;
  void LetGo(Index request, std::vector<Index>& free);
  void LetGoWhoCan();
  bool KeepsStuck(const Cause& cause) const;
  std::string_view OwnerOf(Index request) const;
  // A chain of causes that leads from the asker back to the asker, or, if there is none, into a
  // circle of other requests.
  std::vector<Index> FindCircle() const;
  std::vector<Index> FindAnyChain() const;

  const WaitingRequests& waiting_;
  const LimitOverrides& overrides_;
  std::size_t steps_left_;
  const TimeMs now_;
  const WaitQuestion* question_ = nullptr;
  std::vector<Request> requests_;  // the first is the asker's
  std::vector<Wait> waits_;
  std::vector<Cause> causes_;
  boost::unordered_flat_map<const Claim*, Index> known_;
};

}  // namespace fairlock::engine
