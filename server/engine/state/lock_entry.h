// The entries of the lock table: a lock with its plain hold, and the additional state of a
// contended lock.
#pragma once

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "server/engine/api/attachment.h"
#include "server/engine/api/types.h"
#include "server/engine/containers/block_pool.h"
#include "server/engine/containers/timer_wheel.h"
#include "server/engine/state/claim.h"
#include "server/engine/state/slots.h"

namespace fairlock::engine {

// A request that waits until no hold with a token up to `newest_token` remains.
class Watcher final : public TimerNode, public Pending, public MemberHook {
 public:
  Watcher(LockEntry& its_lock, Token token, std::uint64_t its_arrival)
      : TimerNode(TimerKind::kWatcher, true),
        Pending(PendingKind::kWatcher),
        lock(its_lock),
        newest_token(token),
        arrival(its_arrival) {}

  LockEntry& lock;
  const Token newest_token;
  const std::uint64_t arrival;
};

// A slot that stays taken after its hold has ended, because of MINHOLD.
class Cooldown final : public TimerNode, public MemberHook {
 public:
  Cooldown(LockEntry& its_lock, const Mode& its_mode, Token its_token, std::uint8_t its_rank = 0)
      : TimerNode(TimerKind::kCooling, true),
        lock(its_lock),
        mode(its_mode),
        token(its_token),
        rank(its_rank) {}

  LockEntry& lock;
  const Mode mode;
  const Token token;  // the token of the hold that ended
  const std::uint8_t rank;
  bool is_stored = false;  // whether it has a row
};

template <typename Member, typename Hook = MemberHook>
using MemberList = boost::intrusive::list<Member, boost::intrusive::base_hook<Hook>>;

// The holds of a contended lock except its plain hold, by token. Finding one by its token is O(1):
// if there are more than a few, they are indexed. (An owner's hold is found by
// LockTable::FindClaim.)
class HoldList : private MemberList<Claim> {
  using Base = MemberList<Claim>;

 public:
  using Base::begin;
  using Base::const_iterator;
  using Base::empty;
  using Base::end;
  using Base::front;
  using Base::iterator;
  using Base::size;

  void push_back(Claim& hold) {
    Base::push_back(hold);
    if (by_token_ != nullptr || size() > kSearchedMax) Index(hold);
  }
  void push_front(Claim& hold) {
    Base::push_front(hold);
    if (by_token_ != nullptr || size() > kSearchedMax) Index(hold);
  }
  void erase(Claim& hold);
  // The hold with that token, or null.
  const Claim* Find(Token token) const;

 private:
  static constexpr std::size_t kSearchedMax = 16;

  void Index(Claim& hold);

  // All of them, or null if they are few.
  std::unique_ptr<boost::unordered_flat_map<Token, Claim*>> by_token_;
};

using QueueHook =
    boost::intrusive::set_base_hook<boost::intrusive::tag<struct QueueTag>,
                                    boost::intrusive::link_mode<boost::intrusive::safe_link>>;

using TransactionHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct TransactionTag>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// The additional state of a lock that has, or had a moment ago, more than a single plain hold.
struct ContendedLock : QueueHook, TransactionHook {
  MemberList<Claim> queue;               // all places, by number
  MemberList<Claim, ActiveHook> active;  // the places that are not skipped, by number
  HoldList holds;                  // by token; the plain hold, if any, is older than all of these
  MemberList<Watcher> watchers;    // by newest_token
  MemberList<Cooldown> cooldowns;  // in the order of their beginnings
  Slots slots;  // taken by holds (including the plain hold), reservations and cooldowns
  std::uint64_t next_number = 1;
  std::uint64_t queue_number = 0;          // in EngineState::queues
  std::uint32_t reserved = 0;              // how many places have a slot reserved
  std::uint32_t multi_locks_in_queue = 0;  // how many places are of MLOCKs
  TimeMs due_min = kNever;                 // no member has an earlier deadline
  // EngineState::limit_changes when the queue was last considered; 0: it was not considered to its
  // end.
  std::uint64_t seen_changes = 0;
  bool is_to_grant = false;  // in EngineState::queues_to_grant
  bool is_expiring = false;  // in EngineState::expiring: it must not be freed
  // Why the key may have ceased to exist; GrantNext emits the event if it has.
  std::optional<Cause> vacating;

  bool is_deferred() const { return TransactionHook::is_linked(); }
  bool empty() const {
    return queue.empty() && holds.empty() && watchers.empty() && cooldowns.empty();
  }
};

// The locks that have a queue, by queue_number.
struct QueueNumberOf {
  using type = std::uint64_t;
  std::uint64_t operator()(const ContendedLock& contended) const { return contended.queue_number; }
};
using QueueSet = boost::intrusive::set<ContendedLock, boost::intrusive::base_hook<QueueHook>,
                                       boost::intrusive::key_of_value<QueueNumberOf>,
                                       boost::intrusive::constant_time_size<false>>;

// The locks that a step considers at its end.
using TransactionList =
    boost::intrusive::list<ContendedLock, boost::intrusive::base_hook<TransactionHook>,
                           boost::intrusive::constant_time_size<false>>;

// The values from which a plain hold is created.
struct PlainTerms {
  std::string_view owner = {};                // empty: the lock has no plain hold
  bool is_limit_given = false;                // LIMIT 1
  std::optional<std::string_view> meta = {};  // META
};

// A lock with its plain hold. The bytes of the key, of the plain hold's owner, and of its META,
// preceded by the size of the META, follow the object in memory. 56 bytes.
class LockEntry {
 public:
  static LockEntry* Create(BlockPool& memory, const KeyName& key, const PlainTerms& terms);
  static void Destroy(BlockPool& memory, LockEntry* lock);
  static LockEntry& Of(Hold& hold);
  static const LockEntry& Of(const Hold& hold) { return Of(const_cast<Hold&>(hold)); }

  KeyName key() const {
    return {static_cast<std::uint8_t>(plain.database()), {bytes(), key_size()}, 0};
  }
  std::string_view plain_owner() const {
    return {bytes() + key_size(), static_cast<std::size_t>(plain.owner_bytes)};
  }
  std::optional<std::string_view> plain_meta() const;
  bool has_plain_hold() const { return plain.token != 0; }
  std::size_t hold_count() const {
    return (has_plain_hold() ? 1 : 0) + (contended ? contended->holds.size() : 0);
  }
  // The hold with the lowest token; null: nobody holds the key.
  const Hold* oldest_hold() const {
    if (has_plain_hold()) return &plain;
    return contended != nullptr && !contended->holds.empty() ? &contended->holds.front() : nullptr;
  }
  // The number of places that count, which excludes those skipped.
  std::size_t active_count() const { return contended ? contended->active.size() : 0; }
  // Whether an MLOCK is at the head of the queue. If so, the key exists for the Redis commands.
  bool is_mlock_next() const {
    return active_count() > 0 && contended->active.front().multi_lock() != nullptr;
  }
  ContendedLock& NeedContended();

  // The hold inside the lock stores the database of the lock.
  class PlainHold : public Hold {
   public:
    PlainHold(std::uint8_t db, const PlainTerms& terms) : Hold(false) {
      set_spare_bits(db | (terms.is_limit_given ? kLimitGiven : 0) | (terms.meta ? kMeta : 0));
    }
    std::uint64_t database() const { return spare_bits() & 0xf; }
    // A grant that was renewed can no longer be undone.
    bool is_touched() const { return (spare_bits() & kTouched) != 0; }
    void set_touched(bool is_touched) { SetSpareBit(kTouched, is_touched); }
    bool has_meta() const { return (spare_bits() & kMeta) != 0; }
    Mode mode() const { return {.is_limit_given = (spare_bits() & kLimitGiven) != 0}; }

   private:
    static constexpr std::uint64_t kTouched = 0x10;  // 0x20, 0x40 and 0x200 belong to Hold
    static constexpr std::uint64_t kLimitGiven = 0x80;
    static constexpr std::uint64_t kMeta = 0x100;
  };

  PlainHold plain;
  std::unique_ptr<ContendedLock> contended;

 private:
  LockEntry(std::uint8_t db, const PlainTerms& terms) : plain(db, terms) {}
  ~LockEntry() = default;
  const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
  char* bytes() { return reinterpret_cast<char*>(this + 1); }
  std::size_t key_size() const { return static_cast<std::size_t>(plain.key_bytes); }
  const char* meta_bytes() const { return bytes() + key_size() + plain.owner_bytes; }
};

static_assert(sizeof(LockEntry) == 56);

// The owner of any hold.
inline std::string_view OwnerOf(const Hold& hold) {
  return hold.is_claim() ? static_cast<const Claim&>(hold).owner()
                         : LockEntry::Of(hold).plain_owner();
}

inline Mode ModeOf(const Hold& hold) {
  return hold.is_claim() ? static_cast<const Claim&>(hold).mode
                         : static_cast<const LockEntry::PlainHold&>(hold).mode();
}

// The META of any hold.
inline std::optional<std::string_view> MetaOf(const Hold& hold) {
  return hold.is_claim() ? static_cast<const Claim&>(hold).meta()
                         : LockEntry::Of(hold).plain_meta();
}

}  // namespace fairlock::engine
