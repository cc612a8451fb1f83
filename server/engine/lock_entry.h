// The entries of the lock table: a lock, its holds, the places in its line, and those who wait for
// it to be free.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/engine/attachment.h"
#include "server/engine/label_table.h"
#include "server/engine/timer_wheel.h"
#include "server/engine/types.h"

namespace fairlock::engine {

class LockEntry;

// One holder's grant. Its deadline is the end of the lease. 48 bytes.
//
// Either the plain hold inside a LockEntry (`is_claim` false: LIMIT 1, no META), or part of a
// Claim.
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

  std::uint64_t token : 53;      // 0: not granted
  std::uint64_t key_bytes : 11;  // of the lock entry that the hold is inside of
  std::uint64_t since : 44;      // ms of the grant; of a place: of joining
  std::uint64_t client : 20;     // ClientRef
  std::uint64_t lease_ms : 36;   // the length on record; of a place: the length asked for
  std::uint64_t owner_bytes : 14;
  std::uint64_t label : 14;  // LabelRef
};

using MemberHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct MemberTag>,
                                     boost::intrusive::link_mode<boost::intrusive::safe_link>>;

// An owner's stake in a lock outside of its entry: first a place in line, then, without moving, a
// hold. The bytes of the owner stand behind it.
class Claim final : public Hold, public Pending, public MemberHook {
 public:
  static Claim* Create(LockEntry& lock, std::string_view owner);
  static void Destroy(Claim* claim);

  bool is_place() const { return token == 0; }
  std::string_view owner() const {
    return {reinterpret_cast<const char*>(this + 1), static_cast<std::size_t>(owner_bytes)};
  }
  void BecomeHold() { set_timer_kind(TimerKind::kHold); }

  LockEntry& lock;
  std::uint64_t arrival = 0;  // rises over the whole server
  std::uint64_t number = 0;   // rises within the line
  std::uint32_t limit = 1;
  std::unique_ptr<std::string> meta;

 private:
  explicit Claim(LockEntry& its_lock) : Hold(true), Pending(PendingKind::kPlace), lock(its_lock) {
    set_timer_kind(TimerKind::kPlace);
  }
  ~Claim() = default;
};

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

// How many holds there are of each LIMIT. Nearly always one value, so a small vector sorted by it.
class LimitCounts {
 public:
  void Add(std::uint32_t limit);
  void Remove(std::uint32_t limit);
  // The smallest; 0 if there is none.
  std::uint32_t smallest() const { return counts_.empty() ? 0 : counts_.front().first; }

 private:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> counts_;
};

// What only a lock has that is, or was a moment ago, more than one plain hold.
struct LockDetail {
  template <typename Member>
  using List = boost::intrusive::list<Member, boost::intrusive::base_hook<MemberHook>>;

  List<Claim> line;        // by number
  List<Claim> holds;       // by token; the plain hold, if any, is older
  List<Watcher> watchers;  // by newest_token
  LimitCounts limits;      // of all holds, the plain one included
  std::uint64_t next_number = 1;
  TimeMs due_min = kNever;  // no deadline of the members is before it

  bool empty() const { return line.empty() && holds.empty() && watchers.empty(); }
};

// A lock: its plain hold in place, and the bytes of key and of the plain hold's owner behind it. 56
// bytes.
class LockEntry {
 public:
  static LockEntry* Create(const KeyName& key, std::string_view owner);
  static void Destroy(LockEntry* lock);
  static LockEntry& Of(Hold& hold);
  static const LockEntry& Of(const Hold& hold) { return Of(const_cast<Hold&>(hold)); }

  KeyName key() const {
    return {static_cast<std::uint8_t>(plain.database()), {bytes(), key_size()}};
  }
  std::string_view plain_owner() const {
    return {bytes() + key_size(), static_cast<std::size_t>(plain.owner_bytes)};
  }
  bool has_plain_hold() const { return plain.token != 0; }
  std::size_t hold_count() const {
    return (has_plain_hold() ? 1 : 0) + (detail ? detail->holds.size() : 0);
  }
  std::size_t place_count() const { return detail ? detail->line.size() : 0; }
  LockDetail& NeedDetail();

  // The hold inside of the lock knows the database of the lock.
  class PlainHold : public Hold {
   public:
    explicit PlainHold(std::uint8_t db) : Hold(false) { set_spare_bits(db); }
    std::uint64_t database() const { return spare_bits(); }
  };

  PlainHold plain;
  std::unique_ptr<LockDetail> detail;

 private:
  explicit LockEntry(std::uint8_t db) : plain(db) {}
  ~LockEntry() = default;
  const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
  char* bytes() { return reinterpret_cast<char*>(this + 1); }
  std::size_t key_size() const { return static_cast<std::size_t>(plain.key_bytes); }
};

static_assert(sizeof(Hold) == 48);
static_assert(sizeof(LockEntry) == 56);
static_assert(sizeof(Claim) <= 136);

// The owner of any hold.
inline std::string_view OwnerOf(const Hold& hold) {
  return hold.is_claim() ? static_cast<const Claim&>(hold).owner()
                         : LockEntry::Of(hold).plain_owner();
}

inline std::uint32_t LimitOf(const Hold& hold) {
  return hold.is_claim() ? static_cast<const Claim&>(hold).limit : 1;
}

}  // namespace fairlock::engine
