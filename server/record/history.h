// What happened to locks: a bounded memory that outlives the keys.
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

// One thing that happened, or the same thing to the same hold again and again. Views are valid
// until the next event.
struct PastEvent {
  engine::EventKind kind = engine::EventKind::kGranted;
  engine::DenialReason reason = engine::DenialReason::kNone;
  engine::KeyName key;
  std::string_view owner;  // empty: a key was freed by force that nobody held, or see kRefused
  std::string_view other;  // the holder then, the holder before, or who took the place
  engine::Token token = 0;
  engine::Token other_token = 0;
  engine::TimeMs at = 0;       // the first time
  engine::TimeMs last_at = 0;  // the last time
  std::uint32_t count = 1;
  engine::DurationMs waited_ms = 0;
  engine::DurationMs held_ms = 0;
  std::string_view by;       // of what was done by force: who did it
  std::string_view comment;  // and why
};

// How many events one search looks at by default; it takes less than a millisecond or two.
inline constexpr std::size_t kHistoryLooksMax = 10'000;

struct HistoryQuery {
  std::optional<std::uint8_t> db = 0;       // none: all databases
  std::optional<engine::KeyName> key = {};  // none: all keys
  std::optional<std::string_view> owner = {};
  std::string_view match = {};  // a glob that the key matches; empty: every key does
  EventKinds kinds = EventKinds::All();
  engine::TimeMs since = 0;  // of these two: both included
  engine::TimeMs until = engine::kNever;
  std::size_t count_max = 100;
  // Only what is older than the event of that number; 0: from the newest on. With it a page has
  // never more than count_max; without it the events of one millisecond stay together.
  std::optional<std::uint64_t> before = {};
  // The search stops after this many; comparing a key with a long glob counts as several.
  std::size_t looks_max = kHistoryLooksMax;
};

// The newest first, by the time of the first of those that are counted together.
struct HistoryPage {
  std::vector<PastEvent> events;
  // Where the search stopped before all was seen: ask again with this as `until`.
  std::optional<engine::TimeMs> next_until;
  // The same as `before`, exact within a millisecond.
  std::optional<std::uint64_t> next_before;
};

// What may happen again and again to one hold.
inline constexpr EventKinds kRepeatableEvents = {
    engine::EventKind::kDenied, engine::EventKind::kRenewed, engine::EventKind::kReacquired,
    engine::EventKind::kRefused};
// What BREAK does; the last of them is remembered only then.
inline constexpr EventKinds kForcedEvents = {
    engine::EventKind::kBroken, engine::EventKind::kCancelled, engine::EventKind::kVacated};

// One flat buffer, of which an event takes 40 bytes and those of its names; taking one allocates
// nothing. A denial, a renewal or a repeated LOCK that was the same within kRepeatMs is counted at
// the first one: same key, owner, reason, and the same hold by its token. Loop-confined.
class History {
 public:
  static constexpr std::size_t kBytesMin = 256 * 1024;
  static constexpr engine::DurationMs kRepeatMs = 600'000;
  static constexpr std::size_t kLooksMax = kHistoryLooksMax;
  static constexpr std::size_t kCommentBytesMax = engine::kReasonBytesMax;
  static constexpr std::size_t kByBytesMax = 512;

  // REQUIRES: bytes >= kBytesMin. `bytes` is all that it ever takes; the indexes are a small part
  // of it.
  explicit History(std::size_t bytes);

  // An event of that key is expected soon.
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

  // Until EndForce holds and places that end are ended by that client, for that reason.
  void BeginForce(std::string_view by, std::string_view comment);
  void EndForce() { is_by_force_ = false; }

  // O(looks_max). Of a millisecond with more events than that only `before` finds all.
  HistoryPage Search(const HistoryQuery& query) const;

  std::size_t bytes() const { return bytes_; }
  std::size_t used_bytes() const { return ring_.used_bytes(); }
  std::size_t event_count() const { return ring_.count(); }
  // When the oldest event that is kept happened; none: nothing is.
  std::optional<engine::TimeMs> oldest_at() const;

 private:
  using Position = RecordRing::Position;
  struct Record;

  // Of the lower half tables are made.
  static std::uint64_t ChainOf(std::uint64_t key_hash) { return key_hash >> 32; }
  void TakeSpecial(const engine::Event& event);
  // Both REQUIRE: room in the ring.
  void Write(const engine::Event& event);
  void Write(const engine::Event& event, std::string_view other, std::string_view comment);
  // True: the event at that position was the same, and counts this one too.
  bool CountRepeat(const engine::Event& event, Position position);
  std::size_t RepeatSlotOf(const engine::Event& event) const;
  const Record& At(Position position) const;
  // From where a search goes back; `is_in_chain`: along the chain of its key.
  struct Place {
    Position position;
    bool is_in_chain;
  };
  Place Start(const HistoryQuery& query, std::size_t& looks) const;
  // Of the events that are asked for the newest, or one that a few events are after it.
  Position Newest(const HistoryQuery& query) const;
  // Newer than what is asked for.
  bool IsAfter(const HistoryQuery& query, Position position) const;
  static bool IsOfKey(const HistoryQuery& query, const Record& record);
  // Adds to `looks` what the comparison with a glob costs.
  bool IsFound(const HistoryQuery& query, Position position, std::size_t& looks) const;
  static PastEvent Read(const Record& record);

  const std::size_t bytes_;
  RecordRing ring_;                    // chained by the hash of the key
  std::vector<Position> repeatables_;  // the newest repeatable event of each slot
  bool is_by_force_ = false;
  std::string by_;
  std::string comment_;
};

}  // namespace fairlock::record
