#include "server/record/history.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "server/engine/api/glob.h"

namespace fairlock::record {

using engine::Event;
using engine::EventKind;

namespace {

constexpr std::uint64_t Mask(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }
constexpr std::uint64_t kOnce = std::uint64_t{1} << 38;

char* Copy(std::string_view from, char* to) {
  std::copy(from.begin(), from.end(), to);
  return to + from.size();
}

void CopyAll(std::string_view from, char* to) { std::copy(from.begin(), from.end(), to); }

[[gnu::noinline]] void CopyBoth(std::string_view first, std::string_view second, char* to) {
  Copy(second, Copy(first, to));
}

// Each chain end takes 8 bytes, and so does each slot for repeatable events and for notices. There
// are as many slots for repeatable events as chains, and a quarter as many for notices, so together
// they take 18 bytes for every 1,024 bytes of memory.
std::size_t ChainCount(std::size_t bytes) { return std::bit_floor(bytes / 1024); }
std::size_t NoticeCount(std::size_t bytes) { return ChainCount(bytes) / 4; }

// Marks and other bookkeeping take less than 1 %.
std::size_t RingBytes(std::size_t bytes) {
  return bytes - bytes / 100 -
         (2 * ChainCount(bytes) + NoticeCount(bytes)) * sizeof(RecordRing::Position);
}

// Comparing this many bytes (bytes of the glob times bytes of the key) costs as much as examining
// one more event.
constexpr std::size_t kGlobWorkPerLook = 64;

// Records of these events store how long the request waited; records of all other events store how
// long the lock was held.
constexpr EventKinds kEventsOfPlaces = {EventKind::kGranted, EventKind::kCancelled,
                                        EventKind::kReplaced, EventKind::kTimedOut,
                                        EventKind::kLapsed};
// These events have no token of their own, so their records store the holder's token.
constexpr EventKinds kEventsWithHolder = {EventKind::kDenied, EventKind::kQueued,
                                          EventKind::kRefused};

}  // namespace

// Packed manually, because a record is written whenever a hold is granted or ends. The bytes of the
// key, owner, other owner and comment follow the record.
struct History::Record {
  std::uint64_t what;   // bits: time 44, kind 5, reason 5, database 4
  std::uint64_t token;  // bits: token 53, key length 11
  std::uint64_t spans;  // bits: time held or waited 44, time from the first to the last repeat 20
  // bits: lengths of owner 14, other owner 14, comment 10; number of occurrences 24
  std::uint64_t lengths;

  static std::uint64_t WhatOf(const Event& event);
  engine::TimeMs at() const { return static_cast<engine::TimeMs>(what & Mask(44)); }
  EventKind kind() const { return static_cast<EventKind>(what >> 44 & Mask(5)); }
  engine::DenialReason reason() const {
    return static_cast<engine::DenialReason>(what >> 49 & Mask(5));
  }
  std::uint8_t db() const { return static_cast<std::uint8_t>(what >> 54 & Mask(4)); }
  std::size_t key_bytes() const { return token >> 53; }
  std::size_t owner_bytes() const { return lengths & Mask(14); }
  std::size_t other_bytes() const { return lengths >> 14 & Mask(14); }
  std::size_t comment_bytes() const { return lengths >> 28 & Mask(10); }
  std::size_t shown_bytes() const {
    return key_bytes() + owner_bytes() + other_bytes() + comment_bytes();
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(lengths >> 38 & Mask(24)); }
  engine::DurationMs repeated_ms() const {
    return static_cast<engine::DurationMs>(spans >> 44 & Mask(20));
  }

  const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
  std::string_view key() const { return {bytes(), key_bytes()}; }
  std::string_view owner() const { return {bytes() + key_bytes(), owner_bytes()}; }
  std::string_view other() const { return {bytes() + key_bytes() + owner_bytes(), other_bytes()}; }
  std::string_view comment() const {
    return {bytes() + key_bytes() + owner_bytes() + other_bytes(), comment_bytes()};
  }
};

History::History(std::size_t bytes)
    : bytes_(bytes),
      ring_(RingBytes(bytes), ChainCount(bytes)),
      repeatables_(ChainCount(bytes), RecordRing::kNone),
      notices_(NoticeCount(bytes), RecordRing::kNone) {
  static_assert(sizeof(Record) == 32);
  static_assert(sizeof(Record) + engine::kKeyBytesMax + 2 * engine::kOwnerBytesMax +
                    kCommentBytesMax <
                RecordRing::kRecordBytesMax);
  static_assert(kRepeatMs < static_cast<engine::DurationMs>(Mask(20)));
  assert(bytes >= kBytesMin);
  assert(ring_.memory_bytes() + (repeatables_.size() + notices_.size()) * sizeof(Position) <=
         bytes);
}

// Recording events --------------------------------------------------------------------------------

std::uint64_t History::Record::WhatOf(const Event& event) {
  return static_cast<std::uint64_t>(event.at) | static_cast<std::uint64_t>(event.kind) << 44 |
         static_cast<std::uint64_t>(event.reason) << 49 |
         static_cast<std::uint64_t>(event.key.db) << 54;
}

void History::Write(const Event& event) {
  const std::string_view key = event.key.bytes;
  const std::string_view owner = event.owner;
  const std::size_t bytes = key.size() + owner.size();
  char* at = ring_.Append(sizeof(Record) + bytes, ChainOf(event.key_hash));
  new (at) Record{.what = Record::WhatOf(event),
                  .token = event.token | key.size() << 53,
                  .spans = static_cast<std::uint64_t>(event.waited_ms | event.held_ms),
                  .lengths = owner.size() | kOnce};
  char* to = at + sizeof(Record);
  const bool are_side_by_side = key.data() + key.size() == owner.data();  // true for a plain lock
  are_side_by_side ? CopyAll({key.data(), bytes}, to) : CopyBoth(key, owner, to);
}

void History::Write(const Event& event, std::string_view other, std::string_view comment) {
  const std::string_view key = event.key.bytes;
  const std::string_view owner = event.owner;
  const std::size_t bytes = key.size() + owner.size() + other.size() + comment.size();
  char* at = ring_.Append(sizeof(Record) + bytes, ChainOf(event.key_hash));
  // In each of these two pairs, at least one value is 0.
  new (at) Record{.what = Record::WhatOf(event),
                  .token = (event.token | event.other_token) | key.size() << 53,
                  .spans = static_cast<std::uint64_t>(event.waited_ms | event.held_ms),
                  .lengths = owner.size() | other.size() << 14 | comment.size() << 28 | kOnce};
  Copy(comment, Copy(other, Copy(owner, Copy(key, at + sizeof(Record)))));
}

void History::TakeSpecial(const Event& event) {
  if (kRepeatableEvents.Has(event.kind)) {
    Position& latest = repeatables_[RepeatSlotOf(event)];
    if (ring_.Has(latest) && CountRepeat(event, latest)) return;
    Write(event, event.other, {});
    latest = ring_.newest();
  } else if (event.kind == EventKind::kLeaving) {
    TakeLeaving(event);
  } else if (is_by_force_) {
    Write(event, by_, comment_);
  } else if (const Record* notice = FindNotice(event, event.token)) {
    WriteAs(event, *notice);
  } else if (event.kind != EventKind::kVacated) {
    Write(event, {}, {});
  }
}

// The record stores the grace where those of other events store how long the lock was held.
void History::TakeLeaving(const Event& event) {
  Event told = event;
  told.held_ms = event.grace_ms;
  told.other = {};
  told.other_token = 0;
  const Record* notice = is_by_force_ ? nullptr : FindNotice(event, event.other_token);
  if (is_by_force_) {
    Write(told, by_, comment_);
  } else if (notice != nullptr) {
    WriteAs(told, *notice);
  } else {
    Write(told, {}, {});
  }
  NoticeOf(event.key_hash, event.token) = ring_.newest();
}

// Writing may overwrite the other record, so its words are copied first.
void History::WriteAs(const Event& event, const Record& notice) {
  const std::string by(notice.other());
  const std::string comment(notice.comment());
  Write(event, by, comment);
}

RecordRing::Position& History::NoticeOf(std::uint64_t key_hash, engine::Token token) {
  const std::uint64_t hash = (key_hash ^ token) * 0x9e3779b97f4a7c15ULL;
  return notices_[(hash >> 40) & (notices_.size() - 1)];
}

const History::Record* History::FindNotice(const Event& event, engine::Token token) {
  if (event.token == 0 || token == 0) return nullptr;
  const Position position = NoticeOf(event.key_hash, token);
  if (!ring_.Has(position)) return nullptr;
  const Record& record = At(position);
  const bool is_of_hold = record.kind() == EventKind::kLeaving && record.db() == event.key.db &&
                          (record.token & Mask(53)) == token && record.key() == event.key.bytes;
  return is_of_hold ? &record : nullptr;
}

std::size_t History::RepeatSlotOf(const Event& event) const {
  // Hashes the end of the owner name, because that is where names mostly differ.
  std::uint64_t end = 0;
  const std::size_t bytes = std::min(sizeof(end), event.owner.size());
  // Checked because the event for a refused DEL or similar command names no owner.
  if (bytes > 0) std::memcpy(&end, event.owner.data() + event.owner.size() - bytes, bytes);
  std::uint64_t hash = (event.key_hash ^ event.token ^ event.other_token) + end;
  hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15ULL;
  return (hash >> 40) & (repeatables_.size() - 1);
}

bool History::CountRepeat(const Event& event, Position position) {
  auto& record = const_cast<Record&>(At(position));
  const engine::DurationMs since_first_ms = event.at - record.at();
  const bool is_same = record.kind() == event.kind && record.reason() == event.reason &&
                       record.db() == event.key.db &&
                       (record.token & Mask(53)) == (event.token | event.other_token) &&
                       record.key() == event.key.bytes && record.owner() == event.owner;
  if (!is_same || since_first_ms > kRepeatMs || record.count() == Mask(24)) return false;
  record.lengths += kOnce;
  record.spans = (record.spans & Mask(44)) | static_cast<std::uint64_t>(since_first_ms) << 44;
  return true;
}

void History::BeginForce(std::string_view by, std::string_view comment) {
  is_by_force_ = true;
  by_ = by.substr(0, kByBytesMax);
  comment_ = comment.substr(0, kCommentBytesMax);
}

// Searching ---------------------------------------------------------------------------------------

const History::Record& History::At(Position position) const {
  return *reinterpret_cast<const Record*>(ring_.At(position));
}

PastEvent History::Read(const Record& record) {
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
  const auto span_ms = static_cast<engine::DurationMs>(record.spans & Mask(44));
  if (event.kind == EventKind::kLeaving) {
    event.grace_ms = span_ms;
  } else {
    (kEventsOfPlaces.Has(event.kind) ? event.waited_ms : event.held_ms) = span_ms;
  }
  return event;
}

std::optional<engine::TimeMs> History::oldest_at() const {
  if (ring_.empty()) return std::nullopt;
  return At(ring_.oldest()).at();
}

bool History::IsAfter(const HistoryQuery& query, Position position) const {
  return At(position).at() > query.until ||
         (query.before.value_or(0) != 0 && position >= *query.before);
}

RecordRing::Position History::Newest(const HistoryQuery& query) const {
  return ring_.NewestNotAfter([&](Position position) { return IsAfter(query, position); });
}

History::Place History::Start(const HistoryQuery& query, std::size_t& looks) const {
  if (!query.key) return {Newest(query), false};
  Position position = ring_.NewestOf(ChainOf(query.key->hash));
  while (position != RecordRing::kNone && IsAfter(query, position)) {
    // The key has too many newer events to skip them all one by one: start at the newest event in
    // the range, of whatever key, and join the key's chain at its next event.
    if (++looks > query.looks_max / 2) return {Newest(query), false};
    position = ring_.BeforeInChain(position);
  }
  return {position, true};
}

bool History::IsOfKey(const HistoryQuery& query, const Record& record) {
  return (!query.db || record.db() == *query.db) &&
         (!query.key || record.key() == query.key->bytes);
}

bool History::IsFound(const HistoryQuery& query, Position position, std::size_t& looks) const {
  const Record& record = At(position);
  const bool fits = IsOfKey(query, record) && query.kinds.Has(record.kind()) &&
                    !IsAfter(query, position) &&
                    record.at() + record.repeated_ms() >= query.since &&
                    (!query.owner || record.owner() == *query.owner);
  if (!fits || query.match.empty()) return fits;
  looks += query.match.size() * record.key_bytes() / kGlobWorkPerLook;
  return engine::MatchesGlob(query.match, record.key());
}

HistoryPage History::Search(const HistoryQuery& query) const {
  HistoryPage page;
  std::size_t looks = 0;
  std::optional<engine::TimeMs> first_at;
  Place place = Start(query, looks);
  while (place.position != RecordRing::kNone) {
    const Record& record = At(place.position);
    const engine::TimeMs at = record.at();
    // even the repeats of older events were before the range
    if (at + kRepeatMs < query.since) break;
    const bool is_full =
        page.events.size() >= query.count_max && (query.before || page.events.back().at != at);
    if (!first_at && !IsAfter(query, place.position)) first_at = at;
    const bool is_over = looks++ >= query.looks_max;
    const bool is_found = !is_over && IsFound(query, place.position, looks);
    if (is_over || (is_found && is_full)) {
      // Without the `- 1`, the search would never get past a millisecond that has more events than
      // one search examines.
      page.next_until = first_at == at && !query.before ? at - 1 : at;
      page.next_before = place.position + 1;
      break;
    }
    if (is_found) {
      page.events.push_back(Read(record));
      looks += record.shown_bytes() / kHistoryBytesPerLook;
    }
    const bool is_of_key = IsOfKey(query, record);
    place.is_in_chain = place.is_in_chain || (query.key && is_of_key);
    place.position =
        place.is_in_chain ? ring_.BeforeInChain(place.position) : ring_.Before(place.position);
  }
  return page;
}

}  // namespace fairlock::record
