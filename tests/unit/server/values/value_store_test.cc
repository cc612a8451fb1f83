#include "server/values/value_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/values/value_limits.h"

namespace fairlock::values {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr std::uint64_t kSeed = 7;

// "key" for a value, "key.field" for an element of a hash, and "-" in front of a deletion.
struct NotedRows final : ValueLogSink {
  void PutValue(const rows::Value& row) override { rows.emplace_back(row.id.key); }
  void DeleteValue(const rows::ValueId& id) override { rows.push_back("-" + std::string(id.key)); }
  void PutElement(const rows::Element& row) override { rows.push_back(NameOf(row)); }
  void DeleteElement(const rows::Element& row) override { rows.push_back("-" + NameOf(row)); }
  static std::string NameOf(const rows::Element& row) {
    return std::to_string(row.value_number) + "." + std::string(row.name);
  }

  std::vector<std::string> rows;
};

class Values : public testing::Test, public ValueListener {
 protected:
  Values() { store_.set_listener(this); }
  ~Values() override { store_.CheckInvariants(); }

  Value& Make(std::string_view key, std::string_view field = "f", std::uint8_t db = 0) {
    Value& value = store_.Create({db, key}, Hash());
    std::get<Hash>(value.content).Set(field, "v");
    store_.NoticeChange(value);
    return value;
  }

  void OnChange(const engine::KeyName& key) override { changed_.emplace_back(key.bytes); }
  void OnExpiry(const engine::KeyName& key) override { expired_.emplace_back(key.bytes); }

  // What the store has logged, as "key" for a change and "-key" for a removed row.
  std::vector<std::string> Logged() {
    NotedRows noted;
    store_.TakeLog(noted);
    return noted.rows;
  }

  ValueStore store_{kSeed};
  std::vector<std::string> changed_;
  std::vector<std::string> expired_;
};

TEST_F(Values, AreFoundByDatabaseAndKey) {
  Make("k");
  Make("k", "g", 3);
  EXPECT_NE(store_.Find({3, "k"}, 0), nullptr);
  EXPECT_EQ(store_.Find({1, "k"}, 0), nullptr);
  EXPECT_EQ(store_.Count(3), 1U);
  store_.Remove(*store_.Find({3, "k"}, 0));
  EXPECT_EQ(store_.Find({3, "k"}, 0), nullptr);
  EXPECT_EQ(store_.size(), 1U);
}

TEST_F(Values, ExpireAfterTheirLastMillisecond) {
  Value& value = Make("k");
  store_.SetTtl(value, 100, 1000);
  EXPECT_LE(store_.NextDeadline(), 1101);
  EXPECT_FALSE(store_.Advance(1100, 10));
  EXPECT_NE(store_.Find({0, "k"}, 1100), nullptr);
  EXPECT_EQ(store_.Find({0, "k"}, 1101), nullptr);
  EXPECT_THAT(expired_, ElementsAre("k"));
  EXPECT_EQ(store_.NextDeadline(), engine::kNever);
}

TEST_F(Values, ExpireInSlices) {
  for (const char* key : {"a", "b", "c"}) store_.SetTtl(Make(key), 1, 0);
  EXPECT_TRUE(store_.Advance(100, 2));
  EXPECT_LE(store_.NextDeadline(), 100);
  store_.Advance(100, 100);
  EXPECT_THAT(expired_, UnorderedElementsAre("a", "b", "c"));
  EXPECT_TRUE(store_.empty());
}

TEST_F(Values, DoNotExpireOnceFrozen) {
  store_.SetTtl(Make("k"), 1, 0);
  store_.Freeze();
  store_.Advance(1000, 10);
  EXPECT_NE(store_.Find({0, "k"}, 1000), nullptr);
}

TEST_F(Values, ArePersistedOncePerBatch) {
  store_.set_logging(true);
  Value& value = Make("k");
  store_.NoticeChange(value);
  Make("brief");
  store_.Remove(*store_.Find({0, "brief"}, 0));
  EXPECT_THAT(Logged(), ElementsAre("k"));
  EXPECT_FALSE(store_.has_logged());
  store_.Remove(value);
  Make("k");
  EXPECT_THAT(Logged(), ElementsAre("-k", "k"));
}

TEST_F(Values, TheSameTimeToLiveIsNotWrittenAgain) {
  store_.set_logging(true);
  Value& value = Make("k");
  store_.SetTtl(value, 100, 0);
  Logged();
  store_.SetTtl(value, 100, 50);
  EXPECT_THAT(Logged(), IsEmpty());
  store_.SetTtl(value, 99, 60);
  EXPECT_THAT(Logged(), ElementsAre("k"));
  store_.SetTtl(value, std::nullopt, 60);
  EXPECT_THAT(Logged(), ElementsAre("k"));
}

TEST_F(Values, AreRestoredWithTheirOrderAndTheirTime) {
  Value& value = Make("k", "b");
  std::get<Hash>(value.content).Set("a", "2");
  store_.SetTtl(value, 100, 0);
  ValueStore restored(kSeed);
  restored.Restore(store_.RowOf(value, {}, 70), 1000);
  const Value* same = restored.Find({0, "k"}, 1000);
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(same->deadline(), 1100);
  EXPECT_EQ(std::get<Hash>(same->content).fields()[1].name, "a");
  ValueStore after_stop(kSeed);
  after_stop.Restore(store_.RowOf(value, {.with_time_left = true}, 70), 1000);
  EXPECT_EQ(after_stop.Find({0, "k"}, 1000)->deadline(), 1030);
}

TEST_F(Values, ATimeToLiveIsWrittenAgainAfterACleanStop) {
  Value& value = Make("k");
  store_.SetTtl(value, 100, 0);
  ValueStore restored(kSeed);
  restored.Restore(store_.RowOf(value, {.with_time_left = true}, 70), 1000);
  restored.set_logging(true);
  restored.SetTtl(*restored.Find({0, "k"}, 1000), 100, 1000);
  EXPECT_TRUE(restored.has_logged());
}

TEST_F(Values, OfEveryTypeAreRestored) {
  SortedSet sorted;
  sorted.Set("m", 1.5);
  List list;
  list.Push(ListEnd::kLeft, "");
  Set set;
  set.Add("3");
  std::vector<Content> contents;
  contents.emplace_back(std::move(list));
  contents.emplace_back(std::move(sorted));
  contents.emplace_back(std::move(set));
  for (Content& content : contents) {
    const std::size_t index = content.index();
    ValueStore store(kSeed);
    ValueStore restored(kSeed);
    restored.Restore(store.RowOf(store.Create({0, "k"}, std::move(content)), {}, 0), 0);
    EXPECT_EQ(restored.Find({0, "k"}, 0)->content.index(), index);
    EXPECT_EQ(restored.Find({0, "k"}, 0)->size(), 1U);
  }
}

// The store writes what has changed, whatever the size of the value.
TEST_F(Values, ThatAreLargeAreWrittenByElement) {
  store_.set_logging(true);
  Value& value = Make("k");
  auto& hash = std::get<Hash>(value.content);
  for (std::size_t i = 1; i < kSmallElementsMax; ++i) hash.Set(std::to_string(i), "v");
  EXPECT_THAT(Logged(), ElementsAre("k"));
  hash.Set("more", "v");
  store_.NoticeChange(value);
  EXPECT_EQ(Logged().size(), 1 + kSmallElementsMax + 1);
  EXPECT_EQ(value.number, 1U);
  hash.Set("more", "w");
  hash.Set("new", "v");
  hash.Set("new", "w");
  hash.Erase("f");
  hash.Set("passing", "v");
  hash.Erase("passing");
  store_.NoticeChange(value);
  EXPECT_THAT(Logged(), ElementsAre("-1.f", "1.more", "1.new", "-1.passing"));
  store_.SetTtl(value, 100, 0);
  EXPECT_THAT(Logged(), ElementsAre("k"));
  // A value that has been large stays so, until it is deleted.
  for (std::size_t i = 1; i < kSmallElementsMax; ++i) hash.Erase(std::to_string(i));
  store_.NoticeChange(value);
  EXPECT_EQ(Logged().size(), kSmallElementsMax - 1);
  store_.Remove(value);
  Make("k");
  EXPECT_THAT(Logged(), ElementsAre("-k", "k"));
  EXPECT_EQ(store_.Find({0, "k"}, 0)->number, 0U);
}

TEST_F(Values, AreLargeByTheirBytesToo) {
  store_.set_logging(true);
  Value& value = Make("k");
  std::get<Hash>(value.content).Set("f", std::string(kSmallBytesMax, 'x'));
  EXPECT_THAT(Logged(), ElementsAre("k", "1.f"));
}

TEST_F(Values, AreClearedByDatabase) {
  Make("a");
  Make("b", "f", 1);
  EXPECT_EQ(store_.Clear(0, 1'000'000, 1), 0U);
  EXPECT_EQ(store_.Count(1), 0U);
  EXPECT_EQ(store_.Count(0), 1U);
  EXPECT_EQ(store_.Clear(0, 1'000'000, std::nullopt), 0U);
  EXPECT_TRUE(store_.empty());
}

TEST_F(Values, AreAllVisitedByAScan) {
  std::vector<std::string> expected;
  for (int i = 0; i < 500; ++i) {
    expected.push_back("k" + std::to_string(i));
    Make(expected.back());
  }
  std::vector<std::string> found;
  std::uint64_t cursor = 0;
  do {
    cursor = store_.Scan(cursor, 10, [&](const Value& value) {
      found.emplace_back(value.name().bytes);
      return true;
    });
  } while (cursor != 0);
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(expected));
}

TEST_F(Values, AreClearedInSteps) {
  for (int i = 0; i < 500; ++i) Make("k" + std::to_string(i));
  std::uint64_t cursor = 0;
  int steps = 0;
  do {
    cursor = store_.Clear(cursor, 50, 0);
    ++steps;
    EXPECT_GE(store_.size() + static_cast<std::size_t>(steps) * 100, 500U);
  } while (cursor != 0);
  EXPECT_GT(steps, 5);
  EXPECT_TRUE(store_.empty());
}

TEST_F(Values, WithManyElementsAreFreedInSteps) {
  constexpr int kValues = 100;
  for (int i = 0; i < kValues; ++i) {
    const std::string key = "k" + std::to_string(i);
    auto& hash = std::get<Hash>(Make(key).content);
    for (int field = 0; field < 1000; ++field) hash.Set(std::to_string(field), "v");
  }
  store_.Clear(0, 1'000'000, std::nullopt);
  EXPECT_TRUE(store_.empty());
  int steps = 1;
  EXPECT_EQ(store_.NextDeadline(), 0);
  while (store_.Advance(0, 1000)) ++steps;
  EXPECT_GT(steps, 2);
  EXPECT_EQ(store_.NextDeadline(), engine::kNever);
}

}  // namespace
}  // namespace fairlock::values
