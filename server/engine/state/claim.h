// An owner's stake in a lock: a hold, or a place in the queue that becomes one.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/engine/api/attachment.h"
#include "server/engine/api/types.h"
#include "server/engine/containers/timer_wheel.h"
#include "server/engine/state/label_table.h"

namespace fairlock::engine {

// What a deadline ends. Deadlines of one tick are handled in the order of these classes.
struct TimerClass {
  enum : std::uint8_t { kLease, kCooling, kReservation, kWait };
};

// The kind of object that a node of the timer wheel is part of.
struct TimerKind {
  enum : std::uint8_t { kHold, kPlace, kMultiLock, kWatcher, kCooling };
};

class LockEntry;
class MultiLock;
class NotifyChannel;

// One holder's grant. Its deadline is the end of the lease, or of the session's grace. 48 bytes.
//
// It is either part of a Claim, or the plain hold inside a LockEntry. A plain hold (`is_claim` is
// false) is exclusive, has no options except LIMIT 1, META and LABEL, and may be endless only if
// it was taken the Redis way.
class Hold : public TimerNode {
 public:
  explicit Hold(bool is_claim)
      : TimerNode(TimerKind::kHold, is_claim),
        token(0),
        key_bytes(0),
        since(0),
        client(kUnknownClient),
        lease_ms(0),
        owner_bytes(0),
        label(kNoLabel) {}

  bool is_claim() const { return is_ordered(); }
  void SetLeaseMs(DurationMs length_ms) {
    lease_ms = static_cast<std::uint64_t>(length_ms) & ((1ULL << 36) - 1);
  }
  // The time left of its lease is stored, or counted from a take-over on: a renewal must be stored,
  // too, or a restart would shorten the lease.
  bool is_remaining_stored() const { return (spare_bits() & kRemainingStored) != 0; }
  void set_remaining_stored(bool is_stored) { SetSpareBit(kRemainingStored, is_stored); }
  // Whether it was taken or requested by a Redis command such as SET NX, not by LOCK.
  bool is_redis_way() const { return (spare_bits() & kRedisWay) != 0; }
  void set_redis_way(bool is_redis_way) { SetSpareBit(kRedisWay, is_redis_way); }
  // Whether BREAK with GRACE has given notice to it: its lease has an end that nothing postpones,
  // and then it ends by force.
  bool is_leaving() const { return (spare_bits() & kLeaving) != 0; }
  void set_leaving(bool is_leaving) { SetSpareBit(kLeaving, is_leaving); }
  void SetSince(TimeMs time) { since = static_cast<std::uint64_t>(time) & ((1ULL << 44) - 1); }

  std::uint64_t token : 53;      // 0: not granted
  std::uint64_t key_bytes : 11;  // for a plain hold: the size of the key of its lock entry
  std::uint64_t since : 44;      // ms: when it was granted; for a place: when it joined the queue
  std::uint64_t client : 20;     // ClientRef
  std::uint64_t lease_ms : 36;   // the length on record, 0: none; for a place, the length requested
  std::uint64_t owner_bytes : 14;
  std::uint64_t label : 14;  // LabelRef

 private:
  static constexpr std::uint64_t kRemainingStored = 0x20;
  static constexpr std::uint64_t kRedisWay = 0x40;
  static constexpr std::uint64_t kLeaving = 0x200;
};

enum class ClaimState : std::uint8_t {
  kWaiting,  // a place whose request is waiting
  kKept,  // a place without a request, within KEEP: a slot is reserved for it when its turn comes
  kSkipped,  // a place whose connection closed: it keeps its number, but delays nobody
  // A denied SET NX created this place. It is skipped too, until its owner tries SET NX again.
  kMarked,
  kHeld,
};

// Members that only a few claims need.
struct ClaimExtras {
  MultiLock* multi_lock = nullptr;          // null: not part of an MLOCK
  std::uint8_t rank = 0;                    // the index of this claim's key in the MLOCK
  std::shared_ptr<const std::string> meta;  // null: none; shared by all claims of an MLOCK
  std::shared_ptr<NotifyChannel> channel;   // NOTIFY; null: none
  DurationMs wait_ms = 0;                   // with NOTIFY: its WAIT; kForever: no time limit
  // With NOTIFY: the end of its WAIT, which continues to run while the owner is absent.
  TimeMs wait_end = kNever;
  Terms terms;
  TimeMs lease_end = kNever;  // of the hold of a session, whose deadline may be earlier
  TimeMs cool_until = 0;      // for a hold with MINHOLD
};

using MemberHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct MemberTag>,
                                     boost::intrusive::link_mode<boost::intrusive::safe_link>>;
using ActiveHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct ActiveTag>,
                                     boost::intrusive::link_mode<boost::intrusive::safe_link>>;

// A claim outside the lock's entry. It is first a place in the queue and then, at the same address,
// a hold; if the grant is undone, it becomes a place again. The bytes of the owner follow it in
// memory.
class Claim final : public Hold, public Pending, public MemberHook, public ActiveHook {
 public:
  static Claim* Create(LockEntry& lock, std::string_view owner);
  static void Destroy(Claim* claim);

  bool is_place() const { return state != ClaimState::kHeld; }
  bool is_active() const { return state == ClaimState::kWaiting || state == ClaimState::kKept; }
  std::string_view owner() const {
    return {reinterpret_cast<const char*>(this + 1), static_cast<std::size_t>(owner_bytes)};
  }
  std::optional<std::string_view> meta() const {
    if (extras == nullptr || extras->meta == nullptr) return std::nullopt;
    return *extras->meta;
  }
  MultiLock* multi_lock() const { return extras != nullptr ? extras->multi_lock : nullptr; }
  NotifyChannel* channel() const { return extras != nullptr ? extras->channel.get() : nullptr; }
  // The rank among the holds with the same token.
  std::uint8_t rank() const { return extras != nullptr ? extras->rank : 0; }
  bool has_session() const {
    return extras != nullptr && extras->terms.session_grace_ms.has_value();
  }
  ClaimExtras& NeedExtras();
  void SetState(ClaimState its_state) {
    state = its_state;
    set_timer_kind(its_state == ClaimState::kHeld ? TimerKind::kHold : TimerKind::kPlace);
  }

  LockEntry& lock;
  Claim* next_of_owner = nullptr;  // in the ring of WaitingRequests; null: not in a ring
  Claim* previous_of_owner = nullptr;
  std::uint64_t owner_hash = 0;  // valid only while it is in a ring
  std::uint64_t arrival = 0;     // ascends across the whole server; 0: it never had a place
  std::uint64_t number = 0;      // ascends within the queue
  TimeMs joined = 0;
  Mode mode;
  std::uint32_t keep_ms = 0;
  ClaimState state = ClaimState::kWaiting;
  bool is_reserved = false;  // a kept place that has a slot reserved
  bool is_touched = false;   // a hold that was renewed: its grant can no longer be undone
  bool is_stored = false;    // a place that has a row
  std::unique_ptr<ClaimExtras> extras;

 private:
  explicit Claim(LockEntry& its_lock) : Hold(true), Pending(PendingKind::kClaim), lock(its_lock) {
    set_timer_kind(TimerKind::kPlace);
  }
  ~Claim() = default;
};

static_assert(sizeof(Hold) == 48);
static_assert(sizeof(Claim) <= 192);

}  // namespace fairlock::engine
