#include "server/values/value_store.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "server/values/value_limits.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fairlock::values {

namespace {

// The parts of a small value, in its order.
void AddParts(const Hash& hash, rows::Value& row) {
  for (const Hash::Field& field : hash.fields()) {
    row.parts.emplace_back(field.name);
    row.parts.emplace_back(field.value);
  }
}

void AddParts(const List& list, rows::Value& row) {
  for (const std::string& element : list.elements()) row.parts.emplace_back(element);
}

void AddParts(const SortedSet& set, rows::Value& row) {
  for (const SortedSet::Member& member : set.members()) {
    row.parts.emplace_back(member.name);
    row.scores.push_back(member.score);
  }
}

void AddParts(const Set& set, rows::Value& row) {
  for (const std::string& member : set.members()) row.parts.emplace_back(member);
}

Content ContentOf(const rows::Value& row) {
  switch (row.type) {
    case ValueType::kHash: {
      Hash hash;
      hash.SetAll(row.parts);
      return hash;
    }
    case ValueType::kList: {
      List list;
      for (const std::string_view part : row.parts) list.Push(ListEnd::kRight, part);
      return list;
    }
    case ValueType::kSortedSet: {
      SortedSet set;
      for (std::size_t i = 0; i < row.parts.size(); ++i) set.Set(row.parts[i], row.scores[i]);
      return set;
    }
    case ValueType::kSet:
      break;
  }
  Set set;
  set.AddAll(row.parts);
  return set;
}

// A removed value with more elements than this is freed later, by calls that free about this many
// elements each. Freeing one takes up to 300 ns.
constexpr std::size_t kFreedAtOnce = 100;
constexpr std::size_t kFreedPerCall = 5'000;

}  // namespace

ValueStore::ValueStore(std::uint64_t hash_seed) : seed_(hash_seed), table_(HashOfValue{}) {
  SetNameSeed(hash_seed);
}

ValueStore::~ValueStore() {
  listener_ = nullptr;
  is_logging_ = false;
  while (!empty()) Clear(0, size(), std::nullopt);
}

std::uint64_t ValueStore::Clear(std::uint64_t cursor, std::size_t count,
                                std::optional<std::uint8_t> db) {
  std::vector<Value*> values;
  std::size_t looked = 0;
  do {
    cursor = table_.ScanGroup(cursor, [&](Value& value) {
      ++looked;
      if (!db || value.name().db == *db) values.push_back(&value);
    });
  } while (cursor != 0 && looked < count);
  for (Value* value : values) Remove(*value);
  return cursor;
}

std::uint64_t ValueStore::HashOf(const engine::KeyName& key) const {
  if (key.hash != 0) return key.hash;
  return XXH3_64bits_withSeed(key.bytes.data(), key.bytes.size(), seed_ + key.db);
}

const Value* ValueStore::Look(const engine::KeyName& key) const {
  return table_.Find(HashOf(key), [&](const Value& each) { return each.name() == key; });
}

Value* ValueStore::Find(const engine::KeyName& key, engine::TimeMs now) {
  if (empty()) return nullptr;
  Value* value = table_.Find(HashOf(key), [&](const Value& each) { return each.name() == key; });
  if (value == nullptr || value->deadline() >= now || is_frozen_) return value;
  Expire(*value);
  return nullptr;
}

Value& ValueStore::Create(const engine::KeyName& key, Content content) {
  const std::uint64_t hash = HashOf(key);
  auto* value = new Value(key, hash, std::move(content));
  table_.Insert(hash, *value);
  ++counts_[key.db];
  return *value;
}

void ValueStore::Remove(Value& value) {
  const engine::KeyName key = value.name();
  Tell(key);
  if (is_logging_ && value.is_stored) removed_.push_back({key.db, std::string(key.bytes)});
  wheel_.Cancel(value);
  table_.Erase(value.hash(), value);
  --counts_[key.db];
  if (value.size() > kFreedAtOnce) unfreed_.push_back(std::move(value.content));
  delete &value;
}

void ValueStore::FreeRemoved(std::size_t elements_max) {
  std::size_t freed = 0;
  while (!unfreed_.empty() && freed < elements_max) {
    Content& oldest = unfreed_.front();
    freed += std::visit([&](auto& each) { return each.FreeSome(elements_max - freed); }, oldest);
    if (std::visit([](const auto& each) { return each.size(); }, oldest) == 0) unfreed_.pop_front();
  }
}

void ValueStore::NoticeChange(Value& value) {
  Tell(value.name());
  Log(value);
}

void ValueStore::Tell(const engine::KeyName& key) {
  ++changes_;
  if (listener_ != nullptr) listener_->OnChange(key);
}

void ValueStore::Log(Value& value) {
  if (is_logging_ && !value.ChangedHook::is_linked()) changed_.push_back(value);
}

void ValueStore::SetTtl(Value& value, std::optional<engine::DurationMs> ttl_ms,
                        engine::TimeMs now) {
  Tell(value.name());
  const engine::DurationMs length_ms = ttl_ms.value_or(0);
  if (length_ms != value.ttl_ms || value.is_remaining_stored) {
    value.is_head_changed = true;
    Log(value);
  }
  value.ttl_ms = length_ms;
  wheel_.Schedule(value, ttl_ms ? now + *ttl_ms : engine::kNever, 0);
}

void ValueStore::Expire(Value& value) {
  if (listener_ != nullptr) listener_->OnExpiry(value.name());
  Remove(value);
}

bool ValueStore::Advance(engine::TimeMs now, std::size_t steps_max) {
  FreeRemoved(kFreedPerCall);
  const bool is_any_due = !is_frozen_ && wheel_.size() > 0;
  const bool is_more_due =
      is_any_due &&
      wheel_.Advance(
          now - 1, steps_max, [&](engine::TimerNode& node) { Expire(static_cast<Value&>(node)); },
          [](const engine::TimerNode&) { return 0; });
  return is_more_due || !unfreed_.empty();
}

engine::TimeMs ValueStore::NextDeadline() const {
  if (!unfreed_.empty()) return 0;
  if (is_frozen_ || wheel_.size() == 0) return engine::kNever;
  return wheel_.NextTick() + 1;
}

std::uint64_t ValueStore::Scan(std::uint64_t cursor, std::size_t count,
                               const std::function<bool(const Value&)>& visit) const {
  std::size_t visited = 0;
  bool is_over = false;
  do {
    cursor = table_.ScanGroup(cursor, [&](const Value& value) {
      ++visited;
      if (!visit(value)) is_over = true;
    });
  } while (cursor != 0 && visited < count && !is_over);
  return cursor;
}

bool ValueStore::IsSmall(const Value& value) {
  return value.size() <= kSmallElementsMax && value.bytes() <= kSmallBytesMax;
}

void ValueStore::TakeLog(ValueLogSink& sink) {
  for (const RemovedRow& row : removed_) sink.DeleteValue({row.db, row.key});
  removed_.clear();
  while (!changed_.empty()) {
    Value& value = changed_.front();
    changed_.pop_front();
    LogValue(value, sink);
    value.is_stored = true;
  }
}

void ValueStore::LogValue(Value& value, ValueLogSink& sink) {
  const bool becomes_large = value.number == 0 && !IsSmall(value);
  if (becomes_large) value.number = ++newest_number_;
  if (value.number == 0 || becomes_large || value.is_head_changed) {
    sink.PutValue(RowOf(value, {}, 0));
    value.is_head_changed = false;
    value.is_remaining_stored = false;
  }
  if (value.number == 0) return;
  const auto put = [&](rows::Element row) {
    row.value_number = value.number;
    sink.PutElement(row);
  };
  const auto erase = [&](rows::Element row) {
    row.value_number = value.number;
    sink.DeleteElement(row);
  };
  if (becomes_large) {
    VisitElements(value, 0, value.size(), put);
    std::visit([](auto& content) { content.LogElements(); }, value.content);
    return;
  }
  std::visit([&](auto& content) { content.TakeChanged(put, erase); }, value.content);
}

std::uint64_t ValueStore::VisitElements(const Value& value, std::uint64_t cursor, std::size_t count,
                                        const VisitElement& visit) {
  return std::visit(
      [&](const auto& content) {
        return content.VisitFrom(cursor, count, [&](rows::Element row) {
          row.value_number = value.number;
          visit(row);
        });
      },
      value.content);
}

rows::Value ValueStore::RowOf(const Value& value, const ValueDetail& detail,
                              engine::TimeMs now) const {
  const engine::KeyName key = value.name();
  rows::Value row{.id = {key.db, key.bytes}, .type = value.type(), .ttl_ms = value.ttl_ms};
  if (detail.with_time_left && value.expires()) {
    row.remaining_ms = std::max<engine::DurationMs>(value.deadline() - now, 1);
  }
  row.number = value.number;
  if (value.number == 0) {
    std::visit([&](const auto& content) { AddParts(content, row); }, value.content);
  }
  return row;
}

Value& ValueStore::Restore(const rows::Value& row, engine::TimeMs now) {
  Value& value = Create({row.id.db, row.id.key}, ContentOf(row));
  value.is_stored = true;
  value.is_head_changed = false;
  value.number = row.number;
  SkipNumbersTo(row.number);
  value.is_remaining_stored = row.remaining_ms.has_value();
  value.ttl_ms = row.ttl_ms;
  if (row.ttl_ms > 0) wheel_.Schedule(value, now + row.remaining_ms.value_or(row.ttl_ms), 0);
  return value;
}

void ValueStore::Restore(Value& value, const rows::Element& element) {
  std::visit([&](auto& content) { content.Restore(element); }, value.content);
}

void ValueStore::EndRestore(Value& value) {
  std::visit([](auto& content) { content.LogElements(); }, value.content);
}

void ValueStore::CheckInvariants() const {
  std::array<std::uint64_t, engine::kDatabases> counts{};
  std::uint64_t cursor = 0;
  do {
    cursor = table_.ScanGroup(cursor, [&](const Value& value) {
      assert(value.size() > 0);                       // 1
      assert(value.expires() == (value.ttl_ms > 0));  // 2
      ++counts[value.name().db];
    });
  } while (cursor != 0);
  assert(counts == counts_);  // 3
}

}  // namespace fairlock::values
