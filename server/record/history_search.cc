// Reads the history, newest first.
#include <algorithm>
#include <limits>

#include "server/engine/api/glob.h"
#include "server/record/history.h"

namespace fairlock::record {

using engine::EventKind;

namespace {

// Comparing this many bytes (bytes of the glob times bytes of the key) costs as much as examining
// one more event.
constexpr std::size_t kGlobWorkPerLook = 64;

const RecordRing* PointerTo(const std::optional<RecordRing>& ring) {
  return ring ? &*ring : nullptr;
}

bool IsOfKey(const HistoryQuery& query, const HistoryRecord& record) {
  return (!query.db || record.db() == *query.db) &&
         (!query.key || record.key() == query.key->bytes);
}

}  // namespace

// Goes back through the events of all rings, newest first. The copies of rare events begin where
// the first ring ends.
class History::Walk {
 public:
  Walk(const History& history, const HistoryQuery& query) : history_(history), query_(query) {
    Start(first_, history.ring_, BoundOf(query), query.looks_max / 2);
    if (history.denied_) {
      Start(denied_, *history.denied_, BoundOf(query), query.looks_max / 8);
    }
    ChooseNewest();
  }

  bool is_over() const { return current_ == nullptr; }
  // The event that the walk has reached. It may be slightly after the range. REQUIRES: !is_over().
  const Record& record() const { return RecordAt(*current_); }
  // Whether that event is newer than the range.
  bool IsAfter() const { return IsAfter(*current_, record()); }
  void GoOn() {
    Place& place = *current_;
    place.is_in_chain = place.is_in_chain || (query_.key && IsOfKey(query_, record()));
    place.position = place.is_in_chain ? place.ring->BeforeInChain(place.position)
                                       : place.ring->Before(place.position);
    ChooseNewest();
  }
  // How many events were skipped to find the beginning of the range.
  std::size_t skipped() const { return skipped_; }

 private:
  // Where the walk is in one ring. If `is_in_chain` is set, it follows the chain of the key.
  struct Place {
    const RecordRing* ring = nullptr;
    std::uint64_t bound = 0;  // only events with a smaller number are in the range
    Position position = RecordRing::kNone;
    bool is_in_chain = false;
  };

  static std::uint64_t BoundOf(const HistoryQuery& query) {
    const std::uint64_t before = query.before.value_or(0);
    return before != 0 ? before : std::numeric_limits<std::uint64_t>::max();
  }
  static const Record& RecordAt(const Place& place) {
    return RecordIn(*place.ring, place.position);
  }
  bool IsAfter(const Place& place, const Record& record) const {
    return record.at() > query_.until || record.number >= place.bound;
  }
  // Finds the newest event in the range, or one slightly after it.
  void Start(Place& place, const RecordRing& ring, std::uint64_t bound, std::size_t skipped_max) {
    place.ring = &ring;
    place.bound = bound;
    const auto newest = [&] {
      return ring.NewestNotAfter(
          [&](Position position) { return IsAfter(place, RecordIn(ring, position)); });
    };
    if (!query_.key) {
      place.position = newest();
      return;
    }
    place.position = ring.NewestOf(ChainOf(query_.key->hash));
    place.is_in_chain = true;
    for (std::size_t skipped = 0;
         place.position != RecordRing::kNone && IsAfter(place, RecordAt(place)); ++skipped) {
      // The key has too many newer events to skip them all one by one: start at the newest event in
      // the range, of whatever key, and join the key's chain at its next event.
      if (skipped == skipped_max) {
        place.position = newest();
        place.is_in_chain = false;
        return;
      }
      ++skipped_;
      place.position = ring.BeforeInChain(place.position);
    }
  }
  void ChooseNewest() {
    if (first_.position == RecordRing::kNone && rare_.ring == nullptr && history_.rare_) {
      StartRare();
    }
    current_ = nullptr;
    for (Place* place : {&first_, &denied_, &rare_}) {
      if (place->position == RecordRing::kNone) continue;
      if (current_ == nullptr || RecordAt(*place).number > record().number) current_ = place;
    }
  }
  // The first ring has the originals of the newer copies.
  void StartRare() {
    const RecordRing& first = history_.ring_;
    std::uint64_t bound = BoundOf(query_);
    if (!first.empty()) bound = std::min(bound, RecordIn(first, first.oldest()).number);
    Start(rare_, *history_.rare_, bound, query_.looks_max / 8);
  }

  const History& history_;
  const HistoryQuery& query_;
  Place first_;
  Place denied_;
  Place rare_;
  Place* current_ = nullptr;
  std::size_t skipped_ = 0;
};

PastEvent History::Read(const HistoryRecord& record) {
  PastEvent event;
  event.kind = record.kind();
  event.reason = record.reason();
  event.key = {record.db(), record.key()};
  event.owner = record.owner();
  (kForcedEvents.Has(event.kind) ? event.by : event.other) = record.other();
  event.comment = record.comment();
  (kEventsWithHolder.Has(event.kind) ? event.other_token : event.token) = record.token & Mask(53);
  event.at = record.at();
  event.last_at = event.at + record.repeated_ms();
  event.count = record.count();
  event.is_of_file = (record.what & HistoryRecord::kIsOfFile) != 0;
  const auto span_ms = static_cast<engine::DurationMs>(record.spans & Mask(44));
  if (event.kind == EventKind::kLeaving) {
    event.grace_ms = span_ms;
  } else {
    (kEventsOfPlaces.Has(event.kind) ? event.waited_ms : event.held_ms) = span_ms;
  }
  return event;
}

HistoryPage History::Search(const HistoryQuery& query) const {
  HistoryPage page;
  Walk walk(*this, query);
  std::size_t looks = walk.skipped();
  std::optional<engine::TimeMs> first_at;
  for (; !walk.is_over(); walk.GoOn()) {
    const Record& record = walk.record();
    const engine::TimeMs at = record.at();
    // even the repeats of older events were before the range
    if (at + kRepeatMs < query.since) break;
    const bool is_full =
        page.events.size() >= query.count_max && (query.before || page.events.back().at != at);
    const bool is_in_range = !walk.IsAfter();
    if (!first_at && is_in_range) first_at = at;
    const bool is_over = looks++ >= query.looks_max;
    bool is_found = !is_over && is_in_range && IsOfKey(query, record) &&
                    query.kinds.Has(record.kind()) && at + record.repeated_ms() >= query.since &&
                    (!query.owner || record.owner() == *query.owner);
    if (is_found && !query.match.empty()) {
      looks += query.match.size() * record.key_bytes() / kGlobWorkPerLook;
      is_found = engine::MatchesGlob(query.match, record.key());
    }
    if (is_over || (is_found && is_full)) {
      // Without the `- 1`, the search would never get past a millisecond that has more events than
      // one search examines.
      page.next_until = first_at == at && !query.before ? at - 1 : at;
      page.next_before = record.number + 1;
      break;
    }
    if (is_found) {
      page.events.push_back(Read(record));
      looks += record.shown_bytes() / kHistoryBytesPerLook;
    }
  }
  return page;
}

std::optional<engine::TimeMs> History::oldest_at() const {
  std::optional<engine::TimeMs> oldest;
  for (const RecordRing* ring : {&ring_, PointerTo(rare_), PointerTo(denied_)}) {
    if (ring == nullptr || ring->empty()) continue;
    const engine::TimeMs at = RecordIn(*ring, ring->oldest()).at();
    oldest = std::min(oldest.value_or(at), at);
  }
  return oldest;
}

KnownSince History::known_since() const {
  const auto since = [&](const RecordRing& ring) {
    return ring.has_dropped() ? RecordIn(ring, ring.oldest()).at() + 1 : begun_at_;
  };
  KnownSince known;
  known.ordinary = since(ring_);
  known.rare = rare_ ? std::min(known.ordinary, since(*rare_)) : known.ordinary;
  known.denied = denied_ ? since(*denied_) : known.ordinary;
  return known;
}

}  // namespace fairlock::record
