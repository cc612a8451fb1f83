// The history of locks: a store of events with limited size. Events remain in it after their keys
// are gone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/api/event.h"
#include "server/engine/api/types.h"
#include "server/record/event_kinds.h"
#include "server/record/record_ring.h"

namespace fairlock::record {

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
  engine::DurationMs grace_ms = 0;  // kLeaving: how long the hold may still last
  std::string_view by;              // for a forced action: the client that caused it
  std::string_view comment;         // and the reason given
};

// The default maximum number of events that one search examines, which takes at most one or two
// milliseconds.
inline constexpr std::size_t kHistoryLooksMax = 10'000;
// Showing this many bytes of names counts as examining an event, so one page shows no more than
// this of them.
inline constexpr std::size_t kHistoryBytesPerLook = 256;
inline constexpr std::size_t kHistoryShownBytesMax = kHistoryLooksMax * kHistoryBytesPerLook;

struct HistoryQuery {
  std::optional<std::uint8_t> db = 0;       // none: all databases
  std::optional<engine::KeyName> key = {};  // none: all keys
  std::optional<std::string_view> owner = {};
  std::string_view match = {};  // a glob for keys; empty: all keys
  EventKinds kinds = EventKinds::All();
  engine::TimeMs since = 0;  // both bounds, `since` and `until`, are inclusive
  engine::TimeMs until = engine::kNever;
  std::size_t count_max = 100;
  // Finds only events older than the event with this number; 0: starts with the newest. If `before`
  // is set, a page never has more than count_max events. Otherwise it may have more, because events
  // of one millisecond stay together.
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

// Stores events in one flat buffer; each takes 40 bytes plus the length of its names. Recording an
// event does not allocate. A denial, renewal or repeated LOCK that equals another one within
// kRepeatMs (same key, owner, reason, and same hold by its token) only increments the count of that
// event. A hold that ends because the GRACE of a BREAK is over is recorded with the client and the
// reason of that BREAK; in rare cases, if very many holds leave at once, without them. For use by
// the loop thread only.
class History {
 public:
  static constexpr std::size_t kBytesMin = 256 * 1024;
  static constexpr engine::DurationMs kRepeatMs = 600'000;
  static constexpr std::size_t kLooksMax = kHistoryLooksMax;
  static constexpr std::size_t kCommentBytesMax = engine::kReasonBytesMax;
  static constexpr std::size_t kByBytesMax = 512;

  // REQUIRES: bytes >= kBytesMin. `bytes` is the total limit, including the indexes, which take a
  // small part of it.
  explicit History(std::size_t bytes);

  // Prefetches memory for an expected event of that key.
  void Prefetch(std::uint64_t key_hash) const { ring_.Prefetch(ChainOf(key_hash)); }
  void Take(const engine::Event& event) {
    ring_.MakeRoom();
    if (kRepeatableEvents.Has(event.kind) || kForcedEvents.Has(event.kind)) {
      TakeSpecial(event);
    } else if (event.other.empty()) {
      Write(event);
    } else {
      Write(event, event.other, {});
    }
  }

  // Until EndForce is called, holds and places that end are recorded as ended by that client for
  // that reason.
  void BeginForce(std::string_view by, std::string_view comment);
  void EndForce() { is_by_force_ = false; }

  // Takes O(looks_max). If one millisecond has more events than looks_max, only `before` can
  // continue within it, so only `before` finds them all.
  HistoryPage Search(const HistoryQuery& query) const;

  std::size_t bytes() const { return bytes_; }
  std::size_t used_bytes() const { return ring_.used_bytes(); }
  std::size_t event_count() const { return ring_.count(); }
  // Returns the time of the oldest stored event; nullopt if there are no events.
  std::optional<engine::TimeMs> oldest_at() const;

 private:
  using Position = RecordRing::Position;
  struct Record;

  // Uses the upper half of the hash, because hash tables use the lower half.
  static std::uint64_t ChainOf(std::uint64_t key_hash) { return key_hash >> 32; }
  void TakeSpecial(const engine::Event& event);
  // Both REQUIRE free space in the ring.
  void Write(const engine::Event& event);
  void Write(const engine::Event& event, std::string_view other, std::string_view comment);
  // If the event at that position is the same, counts this one there and returns true.
  bool CountRepeat(const engine::Event& event, Position position);
  std::size_t RepeatSlotOf(const engine::Event& event) const;
  void TakeLeaving(const engine::Event& event);
  // Records the event with the client and the reason of that one.
  void WriteAs(const engine::Event& event, const Record& notice);
  Position& NoticeOf(std::uint64_t key_hash, engine::Token token);
  // The kLeaving event of that hold; null: unknown.
  const Record* FindNotice(const engine::Event& event, engine::Token token);
  const Record& At(Position position) const;
  // Where a backward search is. If `is_in_chain` is set, the search follows the chain of the key.
  struct Place {
    Position position;
    bool is_in_chain;
  };
  Place Start(const HistoryQuery& query, std::size_t& looks) const;
  // Returns the newest event in the requested range, or an event slightly after it.
  Position Newest(const HistoryQuery& query) const;
  // Whether the event is newer than the requested range.
  bool IsAfter(const HistoryQuery& query, Position position) const;
  static bool IsOfKey(const HistoryQuery& query, const Record& record);
  // Adds the cost of comparing with a glob to `looks`.
  bool IsFound(const HistoryQuery& query, Position position, std::size_t& looks) const;
  static PastEvent Read(const Record& record);

  const std::size_t bytes_;
  RecordRing ring_;                    // its chains are selected by the hash of the key
  std::vector<Position> repeatables_;  // the newest repeatable event of each slot
  std::vector<Position> notices_;      // the newest kLeaving event of each slot
  bool is_by_force_ = false;
  std::string by_;
  std::string comment_;
};

}  // namespace fairlock::record
