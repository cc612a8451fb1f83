// The history of locks: a store of events with limited size. Events remain in it after their keys
// are gone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/api/event.h"
#include "server/engine/api/types.h"
#include "server/record/event_kinds.h"
#include "server/record/history_record.h"
#include "server/record/record_ring.h"

namespace fairlock::record {

// Receives each event that the history records. Loop-confined; the implementation may pass events
// on to a thread of its own.
class EventTap {
 public:
  // The record is valid only during the call.
  virtual void Take(const HistoryRecord& record) = 0;
  // How many events have been written to a file, and how many are missing there.
  virtual std::uint64_t written() const = 0;
  virtual std::uint64_t dropped() const = 0;

 protected:
  ~EventTap() = default;
};

// One event, or the same event repeated for one hold. Views are valid until the next event.
struct PastEvent {
  engine::EventKind kind = engine::EventKind::kGranted;
  engine::DenialReason reason = engine::DenialReason::kNone;
  engine::KeyName key;
  // Empty if a key that nobody held was released by force, and in some kRefused events.
  std::string_view owner;
  // The holder at that time, the previous holder, or the owner that took over the place.
  std::string_view other;
  engine::Token token = 0;
  engine::Token other_token = 0;
  engine::TimeMs at = 0;       // time of the first event
  engine::TimeMs last_at = 0;  // time of the last event
  std::uint32_t count = 1;
  engine::DurationMs waited_ms = 0;
  engine::DurationMs held_ms = 0;
  engine::DurationMs grace_ms = 0;  // for kLeaving, how long the hold may still last
  std::string_view by;              // the client that caused a forced action
  std::string_view comment;         // and the reason given
  // Not from the history, but known from the lock, about a present hold or place.
  bool is_of_lock = false;
  bool is_of_file = false;  // read back from a file, of an earlier run of the server
};

// Where the event is known from.
constexpr std::string_view SourceName(const PastEvent& event) {
  if (event.is_of_lock) return "lock";
  return event.is_of_file ? "file" : "memory";
}

// The default maximum number of events that one search examines, which takes at most one or two
// milliseconds.
inline constexpr std::size_t kHistoryLooksMax = 10'000;
// Showing this many bytes of names counts as examining an event, so one page shows no more than
// this of them.
inline constexpr std::size_t kHistoryBytesPerLook = 256;
inline constexpr std::size_t kHistoryShownBytesMax = kHistoryLooksMax * kHistoryBytesPerLook;

struct HistoryQuery {
  std::optional<std::uint8_t> db = 0;       // none means all databases
  std::optional<engine::KeyName> key = {};  // none means all keys
  std::optional<std::string_view> owner = {};
  std::string_view match = {};  // a glob for keys; empty means all keys
  EventKinds kinds = EventKinds::All();
  engine::TimeMs since = kLongAgo;  // both bounds, `since` and `until`, are inclusive
  engine::TimeMs until = engine::kNever;
  std::size_t count_max = 100;
  // Finds only events older than the event with this number; 0 means to start with the newest. If
  // `before` is set, a page never has more than count_max events. Otherwise it may have more,
  // because events of one millisecond stay together.
  std::optional<std::uint64_t> before = {};
  // The search stops after examining this many events; comparing a key with a long glob counts as
  // examining several.
  std::size_t looks_max = kHistoryLooksMax;
};

// Newest first; a repeated event is ordered by its first occurrence.
struct HistoryPage {
  std::vector<PastEvent> events;
  // Set if the search stopped early: pass this value as `until` to continue.
  std::optional<engine::TimeMs> next_until;
  // Likewise for `before`, which can continue even within one millisecond.
  std::optional<std::uint64_t> next_before;
};

// Events that can repeat for one hold.
inline constexpr EventKinds kRepeatableEvents = {
    engine::EventKind::kDenied, engine::EventKind::kRenewed, engine::EventKind::kReacquired,
    engine::EventKind::kRefused};
// Events that BREAK causes. kVacated is recorded only if BREAK has caused it.
inline constexpr EventKinds kForcedEvents = {
    engine::EventKind::kBroken, engine::EventKind::kCancelled, engine::EventKind::kVacated,
    engine::EventKind::kLeaving};

// Events that are rare and show that something went wrong. They are kept for longer than others, as
// denials are, and so are other events that BREAK caused.
inline constexpr EventKinds kRareEvents = {
    engine::EventKind::kExpired, engine::EventKind::kDisconnected, engine::EventKind::kBroken,
    engine::EventKind::kUndone,  engine::EventKind::kRefused,      engine::EventKind::kLeaving};

// From when on the history has every event of a kind.
struct KnownSince {
  engine::TimeMs ordinary = 0;
  engine::TimeMs rare = 0;    // kRareEvents, denials because of a deadlock, and what BREAK caused;
                              // never later than `ordinary`
  engine::TimeMs denied = 0;  // other denials

  engine::TimeMs all() const { return std::max(ordinary, denied); }
};

// Stores events in flat buffers; each takes 48 bytes plus the length of its names. Recording an
// event does not allocate. A quarter of the memory is for denials, which are nowhere else, and an
// eighth has a second copy of rare events, so that neither a flood of ordinary events nor one of
// denials displaces what went wrong; a history of less than kKeepsBesideMin has one buffer for all.
// A denial, renewal or repeated LOCK that equals another one within kRepeatMs (same key, owner,
// reason, and same hold by its token) only increments the count of that event. A hold that ends
// because the GRACE of a BREAK is over is recorded with the client and the reason of that BREAK; in
// rare cases, if very many holds leave at once, without them. For use by the loop thread only.
class History {
 public:
  static constexpr std::size_t kBytesMin = 256 * 1024;
  static constexpr std::size_t kKeepsBesideMin = 2 * 1024 * 1024;
  static constexpr engine::DurationMs kRepeatMs = 600'000;
  static constexpr std::size_t kLooksMax = kHistoryLooksMax;
  static constexpr std::size_t kCommentBytesMax = engine::kReasonBytesMax;
  static constexpr std::size_t kByBytesMax = 512;

  // REQUIRES: bytes >= kBytesMin. `bytes` is the total limit, including the indexes, which take a
  // small part of it. Nothing is known of the time before `now`.
  explicit History(std::size_t bytes, engine::TimeMs now = 0);

  // Prefetches memory for an expected event of that key.
  void Prefetch(std::uint64_t key_hash) const { ring_.Prefetch(ChainOf(key_hash)); }
  void Take(const engine::Event& event) {
    if (kSpecialEvents.Has(event.kind)) {
      return IsBeside(event) ? TakeDenial(event) : TakeSpecial(event);
    }
    ring_.MakeRoom();
    if (event.other.empty()) {
      Write(event);
    } else {
      Write(ring_, event, event.other, {});
    }
  }

  // Every event that is recorded from now on, though not its repetitions, is put there as well.
  void set_tap(EventTap* tap) { tap_ = tap; }
  const EventTap* tap() const { return tap_; }
  // Adds an event of an earlier run, which counts as one from a file. REQUIRES: no event was taken.
  void Restore(const PastEvent& past, std::uint64_t key_hash);
  // The views refer to the record.
  static PastEvent Read(const HistoryRecord& record);

  // Until EndForce is called, holds and places that end are recorded as ended by that client for
  // that reason.
  void BeginForce(std::string_view by, std::string_view comment);
  void EndForce() { force_.is_on = false; }

  // Takes O(looks_max). If one millisecond has more events than looks_max, only `before` can
  // continue within it, so only `before` finds them all.
  HistoryPage Search(const HistoryQuery& query) const;

  std::size_t bytes() const { return bytes_; }
  std::size_t used_bytes() const;
  std::size_t event_count() const { return ring_.count() + (denied_ ? denied_->count() : 0); }
  // Returns the time of the oldest stored event; nullopt if there are no events.
  std::optional<engine::TimeMs> oldest_at() const;
  KnownSince known_since() const;

 private:
  using Position = RecordRing::Position;
  using Record = HistoryRecord;
  class Walk;
  // The client that ends holds and places by force at present, and its reason.
  struct Force {
    bool is_on = false;
    std::string by;
    std::string comment;
  };
  // Where the newest event of a slot is that may be repeated.
  struct Repeatable {
    Position in_ring = RecordRing::kNone;
    // The position of its copy in rare_ or, if it is not in_ring, in denied_.
    Position beside = RecordRing::kNone;
  };

  static constexpr EventKinds kSpecialEvents = kRepeatableEvents | kForcedEvents | kRareEvents;

  // Uses the upper half of the hash, because hash tables use the lower half.
  static std::uint64_t ChainOf(std::uint64_t key_hash) { return key_hash >> 32; }
  void TakeSpecial(const engine::Event& event);
  void TakeRepeatable(const engine::Event& event);
  void TakeDenial(const engine::Event& event);
  // Both REQUIRE free space in the ring; the first writes to ring_.
  void Write(const engine::Event& event);
  void Write(RecordRing& ring, const engine::Event& event, std::string_view other,
             std::string_view comment);
  // Copies the newest event of ring_ to rare_. Returns the position there; kNone if there is no
  // such ring.
  Position KeepBeside(std::uint64_t key_hash);
  // Repeats what has been counted in the record, if its copy is still in rare_.
  void CountBeside(Position position, const Record& record);
  // Whether the event belongs to denied_.
  bool IsBeside(const engine::Event& event) const {
    return event.kind == engine::EventKind::kDenied &&
           event.reason != engine::DenialReason::kDeadlock && denied_.has_value();
  }
  // If the record is of the same event, counts this one there and returns true.
  static bool CountRepeat(const engine::Event& event, Record& record);
  std::size_t RepeatSlotOf(const engine::Event& event) const;
  void TakeLeaving(const engine::Event& event);
  // Records the event with the client and the reason of the notice.
  void WriteAs(const engine::Event& event, const Record& notice);
  Position& NoticeOf(std::uint64_t key_hash, engine::Token token);
  // The kLeaving event of that hold; null if it is unknown.
  const Record* FindNotice(const engine::Event& event, engine::Token token);
  static Record& RecordIn(RecordRing& ring, Position position) {
    return *reinterpret_cast<Record*>(ring.At(position));
  }
  static const Record& RecordIn(const RecordRing& ring, Position position) {
    return *reinterpret_cast<const Record*>(ring.At(position));
  }

  const std::size_t bytes_;
  const engine::TimeMs begun_at_;
  std::uint64_t newest_number_ = 0;
  // The chains of each ring are selected by the hash of the key.
  RecordRing ring_;
  std::optional<RecordRing> rare_;
  std::optional<RecordRing> denied_;
  std::vector<Repeatable> repeatables_;
  std::vector<Position> notices_;  // the newest kLeaving event of each slot
  EventTap* tap_ = nullptr;
  Force force_;
};

}  // namespace fairlock::record
