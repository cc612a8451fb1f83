#include "server/record/history.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <utility>

namespace fairlock::record {

using engine::Event;
using engine::EventKind;

namespace {

constexpr std::uint64_t kOnce = std::uint64_t{1} << 38;

char* Copy(std::string_view from, char* to) {
  std::copy(from.begin(), from.end(), to);
  return to + from.size();
}

void CopyAll(std::string_view from, char* to) { std::copy(from.begin(), from.end(), to); }

[[gnu::noinline]] void CopyBoth(std::string_view first, std::string_view second, char* to) {
  Copy(second, Copy(first, to));
}

// Each chain end takes 8 bytes, a slot for repeatable events 16, and one for notices 8. There are
// as many slots for repeatable events as chains, and a quarter as many for notices, so together
// they take 26 bytes for every 1,024 bytes of memory.
std::size_t ChainCount(std::size_t bytes) { return std::bit_floor(bytes / 1024); }
std::size_t NoticeCount(std::size_t bytes) { return ChainCount(bytes) / 4; }

// Marks and other bookkeeping take less than 1 %.
std::size_t RingBytes(std::size_t bytes) {
  return bytes - bytes / 100 - ChainCount(bytes) * sizeof(RecordRing::Position);
}

std::size_t RareBytes(std::size_t bytes) {
  return bytes < History::kKeepsBesideMin ? 0 : bytes / 8;
}

std::size_t DeniedBytes(std::size_t bytes) {
  return bytes < History::kKeepsBesideMin ? 0 : bytes / 4;
}

// What is left for the first ring and its chains.
std::size_t FirstBytes(std::size_t bytes) {
  return bytes - RareBytes(bytes) - DeniedBytes(bytes) -
         (2 * ChainCount(bytes) + NoticeCount(bytes)) * sizeof(RecordRing::Position);
}

std::optional<RecordRing> MakeBeside(std::size_t bytes) {
  if (bytes == 0) return std::nullopt;
  return std::optional<RecordRing>(std::in_place, RingBytes(bytes), ChainCount(bytes));
}

std::size_t MemoryBytes(const std::optional<RecordRing>& ring) {
  return ring ? ring->memory_bytes() : 0;
}

std::uint64_t WhatOf(const Event& event) {
  return static_cast<std::uint64_t>(event.at + kTimeOffset) |
         static_cast<std::uint64_t>(event.kind) << 44 |
         static_cast<std::uint64_t>(event.reason) << 49 |
         static_cast<std::uint64_t>(event.key.db) << 54;
}

}  // namespace

History::History(std::size_t bytes, engine::TimeMs now)
    : bytes_(bytes),
      begun_at_(now),
      ring_(RingBytes(FirstBytes(bytes)), ChainCount(FirstBytes(bytes))),
      rare_(MakeBeside(RareBytes(bytes))),
      denied_(MakeBeside(DeniedBytes(bytes))),
      repeatables_(ChainCount(bytes)),
      notices_(NoticeCount(bytes), RecordRing::kNone) {
  static_assert(sizeof(Record) + engine::kKeyBytesMax + 2 * engine::kOwnerBytesMax +
                    kCommentBytesMax <
                RecordRing::kRecordBytesMax);
  static_assert(kRepeatMs < static_cast<engine::DurationMs>(Mask(20)));
  static_assert(kKeepsBesideMin / 8 > RecordRing::kBytesMin * 3 / 2);
  assert(bytes >= kBytesMin);
  assert(ring_.memory_bytes() + MemoryBytes(rare_) + MemoryBytes(denied_) +
             repeatables_.size() * sizeof(Repeatable) + notices_.size() * sizeof(Position) <=
         bytes);
}

// Recording events --------------------------------------------------------------------------------

void History::Write(const Event& event) {
  const std::string_view key = event.key.bytes;
  const std::string_view owner = event.owner;
  const std::size_t bytes = key.size() + owner.size();
  char* at = ring_.Append(sizeof(Record) + bytes, ChainOf(event.key_hash));
  const auto* record =
      new (at) Record{.what = WhatOf(event),
                      .token = event.token | key.size() << 53,
                      .spans = static_cast<std::uint64_t>(event.waited_ms | event.held_ms),
                      .lengths = owner.size() | kOnce,
                      .number = ++newest_number_};
  char* to = at + sizeof(Record);
  const bool are_side_by_side = key.data() + key.size() == owner.data();  // true for a plain lock
  are_side_by_side ? CopyAll({key.data(), bytes}, to) : CopyBoth(key, owner, to);
  if (tap_ != nullptr) [[unlikely]]
    tap_->Take(*record);
}

void History::Write(RecordRing& ring, const Event& event, std::string_view other,
                    std::string_view comment) {
  const std::string_view key = event.key.bytes;
  const std::string_view owner = event.owner;
  const std::size_t bytes = key.size() + owner.size() + other.size() + comment.size();
  char* at = ring.Append(sizeof(Record) + bytes, ChainOf(event.key_hash));
  // In each of these two pairs, at least one value is 0.
  const auto* record =
      new (at) Record{.what = WhatOf(event),
                      .token = (event.token | event.other_token) | key.size() << 53,
                      .spans = static_cast<std::uint64_t>(event.waited_ms | event.held_ms),
                      .lengths = owner.size() | other.size() << 14 | comment.size() << 28 | kOnce,
                      .number = ++newest_number_};
  Copy(comment, Copy(other, Copy(owner, Copy(key, at + sizeof(Record)))));
  if (tap_ != nullptr) [[unlikely]]
    tap_->Take(*record);
}

void History::TakeSpecial(const Event& event) {
  ring_.MakeRoom();
  if (kRepeatableEvents.Has(event.kind)) return TakeRepeatable(event);
  bool is_kept = kRareEvents.Has(event.kind) || force_.is_on;
  if (!kForcedEvents.Has(event.kind)) {
    Write(event);
  } else if (event.kind == EventKind::kLeaving) {
    TakeLeaving(event);
  } else if (force_.is_on) {
    Write(ring_, event, force_.by, force_.comment);
  } else if (const Record* notice = FindNotice(event, event.token)) {
    WriteAs(event, *notice);
    is_kept = true;
  } else if (event.kind != EventKind::kVacated) {
    Write(ring_, event, {}, {});
  } else {
    return;
  }
  if (is_kept) KeepBeside(event.key_hash);
}

void History::TakeDenial(const Event& event) {
  denied_->MakeRoom();
  Repeatable& latest = repeatables_[RepeatSlotOf(event)];
  const bool is_denial = latest.in_ring == RecordRing::kNone && denied_->Has(latest.beside);
  if (is_denial && CountRepeat(event, RecordIn(*denied_, latest.beside))) return;
  Write(*denied_, event, event.other, {});
  latest = {.beside = denied_->newest()};
}

void History::TakeRepeatable(const Event& event) {
  Repeatable& latest = repeatables_[RepeatSlotOf(event)];
  if (ring_.Has(latest.in_ring)) {
    Record& record = RecordIn(ring_, latest.in_ring);
    if (CountRepeat(event, record)) return CountBeside(latest.beside, record);
  }
  Write(ring_, event, event.other, {});
  const bool is_rare = event.kind == EventKind::kDenied || event.kind == EventKind::kRefused;
  latest = {.in_ring = ring_.newest(),
            .beside = is_rare ? KeepBeside(event.key_hash) : RecordRing::kNone};
}

RecordRing::Position History::KeepBeside(std::uint64_t key_hash) {
  if (!rare_) return RecordRing::kNone;
  const Record& record = RecordIn(ring_, ring_.newest());
  const std::size_t bytes = sizeof(record) + record.shown_bytes();
  rare_->MakeRoom();
  std::memcpy(rare_->Append(bytes, ChainOf(key_hash)), static_cast<const void*>(&record), bytes);
  return rare_->newest();
}

void History::CountBeside(Position position, const Record& record) {
  if (!rare_ || !rare_->Has(position)) return;
  Record& copy = RecordIn(*rare_, position);
  copy.spans = record.spans;
  copy.lengths = record.lengths;
}

// The record stores the grace where those of other events store how long the lock was held.
void History::TakeLeaving(const Event& event) {
  Event told = event;
  told.held_ms = event.grace_ms;
  told.other = {};
  told.other_token = 0;
  const Record* notice = force_.is_on ? nullptr : FindNotice(event, event.other_token);
  if (force_.is_on) {
    Write(ring_, told, force_.by, force_.comment);
  } else if (notice != nullptr) {
    WriteAs(told, *notice);
  } else {
    Write(ring_, told, {}, {});
  }
  NoticeOf(event.key_hash, event.token) = ring_.newest();
}

// Writing may overwrite the other record, so its words are copied first.
void History::WriteAs(const Event& event, const Record& notice) {
  const std::string by(notice.other());
  const std::string comment(notice.comment());
  Write(ring_, event, by, comment);
}

RecordRing::Position& History::NoticeOf(std::uint64_t key_hash, engine::Token token) {
  const std::uint64_t hash = (key_hash ^ token) * 0x9e3779b97f4a7c15ULL;
  return notices_[(hash >> 40) & (notices_.size() - 1)];
}

const History::Record* History::FindNotice(const Event& event, engine::Token token) {
  if (event.token == 0 || token == 0) return nullptr;
  const Position position = NoticeOf(event.key_hash, token);
  if (!ring_.Has(position)) return nullptr;
  const Record& record = RecordIn(ring_, position);
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

bool History::CountRepeat(const Event& event, Record& record) {
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
  force_.is_on = true;
  force_.by = by.substr(0, kByBytesMax);
  force_.comment = comment.substr(0, kCommentBytesMax);
}

void History::Restore(const PastEvent& past, std::uint64_t key_hash) {
  Event event;
  event.kind = past.kind;
  event.reason = past.reason;
  event.key = past.key;
  event.key_hash = key_hash;
  event.owner = past.owner;
  event.token = past.token;
  event.other_token = past.other_token;
  event.at = past.at;
  event.waited_ms = past.waited_ms;
  event.held_ms = past.held_ms | past.grace_ms;
  const bool is_forced = kForcedEvents.Has(past.kind);
  const bool is_beside = IsBeside(event);
  RecordRing& ring = is_beside ? *denied_ : ring_;
  ring.MakeRoom();
  Write(ring, event, is_forced ? past.by : past.other, past.comment);
  RecordIn(ring, ring.newest()).what |= Record::kIsOfFile;
  const bool is_rare = kRareEvents.Has(past.kind) || past.kind == EventKind::kDenied ||
                       (is_forced && !past.by.empty());
  if (is_rare && !is_beside) KeepBeside(key_hash);
}

std::size_t History::used_bytes() const {
  return ring_.used_bytes() + (rare_ ? rare_->used_bytes() : 0) +
         (denied_ ? denied_->used_bytes() : 0);
}

}  // namespace fairlock::record
