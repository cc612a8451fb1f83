// Values of all sizes come back from batches and snapshots, wherever the log ends; and the bytes of
// a change do not depend on the size of the value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "server/persist/loaded_rows.h"
#include "server/persist/value_writer.h"
#include "storage/log/load_log.h"
#include "storage/records/record.h"
#include "storage/records/rows.h"

namespace fairlock::persist {
namespace {

using values::Hash;
using values::List;
using values::ListEnd;
using values::Set;
using values::SortedSet;
using values::Value;
using values::ValueStore;

constexpr std::uint64_t kSeed = 7;

// Every value with its elements; those of lists in their order, the others in ascending order.
std::vector<std::string> TextOf(const ValueStore& store) {
  std::vector<std::string> texts;
  std::uint64_t cursor = 0;
  do {
    cursor = store.Scan(cursor, 1000, [&](const Value& value) {
      std::vector<std::string> elements;
      if (const auto* list = std::get_if<List>(&value.content)) {
        for (const std::string& element : list->elements()) elements.push_back(element);
      } else {
        ValueStore::VisitElements(value, 0, value.size(), [&](const rows::Element& row) {
          elements.push_back(std::string(row.name) + "=" + std::string(row.text) + "," +
                             std::to_string(row.score));
        });
        std::ranges::sort(elements);
      }
      std::string text(value.name().bytes);
      text += ":" + std::to_string(static_cast<int>(value.type())) + ":" +
              std::to_string(value.ttl_ms) + ":" + std::to_string(value.number) + ":";
      for (const std::string& element : elements) text += element + ";";
      texts.push_back(text);
      return true;
    });
  } while (cursor != 0);
  std::ranges::sort(texts);
  return texts;
}

void ApplyRecord(const std::string& record, storage::RecordKind kind, storage::ChangeSink& sink) {
  auto reader = storage::RecordReader::Open(record, kind, 1, 0);
  ASSERT_TRUE(reader.ok());
  storage::Change change;
  while (reader->Next(change)) {
    ASSERT_TRUE(storage::IsWellFormed(change));
    sink.Apply(change);
  }
  ASSERT_TRUE(reader->status().ok());
}

class LargeValues : public testing::TestWithParam<unsigned> {
 protected:
  // Changes some values at random.
  void ChangeSome() {
    for (auto i = random_() % 4; i > 0; --i) {
      const std::string key = "k" + std::to_string(random_() % 6);
      Value* value = store_.Find({0, key}, 0);
      if (value != nullptr && random_() % 60 == 0) {
        store_.Remove(*value);
        value = nullptr;
      }
      if (value == nullptr) value = &store_.Create({0, key}, Made());
      for (auto j = 1 + random_() % 30; j > 0; --j) ChangeOne(*value);
      if (value->size() == 0) {
        store_.Remove(*value);
        continue;
      }
      store_.NoticeChange(*value);
      if (random_() % 8 == 0) store_.SetTtl(*value, 1 + random_() % 3, 0);
    }
  }

  values::Content Made() {
    switch (random_() % 4) {
      case 0:
        return Hash();
      case 1:
        return List();
      case 2:
        return SortedSet();
    }
    return Set();
  }

  void ChangeOne(Value& value) {
    const std::string name = std::to_string(random_() % 900);
    const bool is_erased = random_() % 3 == 0;
    if (auto* hash = std::get_if<Hash>(&value.content)) {
      is_erased ? static_cast<void>(hash->Erase(name)) : static_cast<void>(hash->Set(name, name));
    } else if (auto* set = std::get_if<Set>(&value.content)) {
      is_erased ? static_cast<void>(set->Erase(name)) : static_cast<void>(set->Add(name));
    } else if (auto* sorted = std::get_if<SortedSet>(&value.content)) {
      const auto score = static_cast<double>(random_() % 90);
      is_erased ? static_cast<void>(sorted->Erase(name))
                : static_cast<void>(sorted->Set(name, score));
    } else {
      auto& list = std::get<List>(value.content);
      const auto end = random_() % 2 == 0 ? ListEnd::kLeft : ListEnd::kRight;
      if (!is_erased && list.size() > 0 && random_() % 2 == 0) {
        // Mostly before the same element, so that its places are used up.
        const std::size_t at = random_() % 4 == 0 ? random_() % list.size() : list.size() / 2;
        return random_() % 5 == 0 ? list.Replace(at, name) : list.Insert(at, name);
      }
      if (!is_erased) return list.Push(end, name);
      if (random_() % 9 == 0) return static_cast<void>(list.EraseEqual(name, 0));
      if (list.size() > 0) list.Pop(end);
    }
  }

  void WriteBatch() {
    storage::RecordWriter batch;
    writer_.Write(batch);
    batches_.emplace_back(batch.Seal(storage::RecordKind::kBatch, 1, 0));
    ApplyRecord(batches_.back(), storage::RecordKind::kBatch, follower_);
    ApplyRecord(batches_.back(), storage::RecordKind::kBatch, table_);
  }

  // Writes the next slice of a snapshot. When it is complete, it replaces the older records.
  void AdvanceSnapshot() {
    if (!is_in_snapshot_) {
      if (random_() % 20 != 0) return;
      is_in_snapshot_ = true;
      writer_.BeginSnapshot();
      first_batch_of_new_ = batches_.size();
      new_slices_.clear();
    }
    storage::RecordWriter slice;
    is_in_snapshot_ = writer_.WriteSlice(1 + random_() % 50, {}, 0, slice);
    new_slices_.emplace_back(slice.Seal(storage::RecordKind::kSlice, 1, 0));
    if (is_in_snapshot_) return;
    slices_ = new_slices_;
    batches_.erase(batches_.begin(),
                   batches_.begin() + static_cast<std::ptrdiff_t>(first_batch_of_new_));
  }

  void ExpectSameAfterRestart(LoadedRows& rows) {
    ASSERT_TRUE(rows.Finish().ok());
    ValueStore restored(kSeed);
    rows.RestoreInto(restored, 0);
    restored.CheckInvariants();
    EXPECT_EQ(TextOf(restored), TextOf(store_));
  }

  void ExpectSameAfterRestart() {
    LoadedRows rows;
    for (const std::string& slice : slices_) ApplyRecord(slice, storage::RecordKind::kSlice, rows);
    for (const std::string& batch : batches_) ApplyRecord(batch, storage::RecordKind::kBatch, rows);
    ExpectSameAfterRestart(rows);
  }

  std::mt19937 random_{GetParam()};
  ValueStore store_{kSeed};
  ValueWriter writer_{store_};
  std::vector<std::string> slices_;
  std::vector<std::string> batches_;
  std::vector<std::string> new_slices_;
  std::size_t first_batch_of_new_ = 0;
  bool is_in_snapshot_ = false;
  LoadedRows follower_;  // follows the batches from the beginning, as a standby does
  storage::RowTable table_;
};

TEST_P(LargeValues, ComeBackWhereverTheLogEnds) {
  for (int turn = 0; turn < 400; ++turn) {
    ChangeSome();
    WriteBatch();
    AdvanceSnapshot();
    if (turn % 20 == 0) ExpectSameAfterRestart();
    if (HasFatalFailure()) return;
  }
  // The rows that a tool reads are those that a standby has; none is left of deleted values.
  EXPECT_EQ(table_.rows().size(), follower_.size());
  ExpectSameAfterRestart(follower_);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LargeValues, testing::Range(0U, 8U));

// The bytes of the batch in which one element of a sorted set of that size is added.
std::size_t BytesOfOneChange(int size) {
  ValueStore store(kSeed);
  ValueWriter writer(store);
  Value& value = store.Create({0, "k"}, SortedSet());
  auto& set = std::get<SortedSet>(value.content);
  for (int i = 0; i < size; ++i) set.Set("member" + std::to_string(1'000'000 + i), i);
  store.NoticeChange(value);
  storage::RecordWriter batch;
  writer.Write(batch);
  batch.Clear();
  set.Set("member", 5);
  store.NoticeChange(value);
  writer.Write(batch);
  return batch.size();
}

TEST(BytesOfAChange, DoNotGrowWithTheValue) {
  EXPECT_EQ(BytesOfOneChange(1'000), BytesOfOneChange(100'000));
  EXPECT_LT(BytesOfOneChange(100'000), 64U);
}

// An element without its value, or a value without its elements, is no state of ours.
TEST(DamagedValues, AreRefused) {
  const auto status_of = [](auto write) {
    storage::RecordWriter batch;
    write(batch);
    const std::string record(batch.Seal(storage::RecordKind::kBatch, 1, 0));
    LoadedRows rows;
    ApplyRecord(record, storage::RecordKind::kBatch, rows);
    return rows.Finish();
  };
  const rows::Value head{.id = {0, "k"}, .type = rows::ValueType::kSet, .number = 3};
  const rows::Element element{.value_number = 3, .type = rows::ValueType::kSet, .name = "m"};
  const rows::Element other{.value_number = 3, .type = rows::ValueType::kHash, .name = "m"};
  EXPECT_TRUE(status_of([&](auto& batch) {
                PutRow(batch, head);
                PutRow(batch, element);
              }).ok());
  EXPECT_FALSE(status_of([&](auto& batch) { PutRow(batch, head); }).ok());
  EXPECT_FALSE(status_of([&](auto& batch) {
                 PutRow(batch, head);
                 PutRow(batch, other);
               }).ok());
}

}  // namespace
}  // namespace fairlock::persist
