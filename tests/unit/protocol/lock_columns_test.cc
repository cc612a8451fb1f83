#include "protocol/lock_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fairlock::protocol {
namespace {

using testing::ElementsAre;

Reply TextReply(std::string text) { return {.type = ReplyType::kBulk, .text = std::move(text)}; }
Reply NumberReply(std::int64_t number) { return {.type = ReplyType::kInteger, .integer = number}; }

// A row whose first columns have these values.
Reply RowOf(std::vector<Reply> values) {
  return {.type = ReplyType::kArray, .elements = std::move(values)};
}

std::vector<std::string_view> NamesIn(const Reply& row) {
  std::vector<std::string_view> names;
  ForEachColumn(row, [&](std::string_view name, const Reply&) { names.push_back(name); });
  return names;
}

// Later ones may follow.
TEST(LockColumns, KeepTheirPlacesBecauseClientsCountThem) {
  std::vector<std::string_view> names;
  for (const Field& column : kLockColumns) names.push_back(column.name);
  ASSERT_GE(names.size(), 11);
  names.resize(11);
  EXPECT_THAT(names, ElementsAre("key", "holders", "waiters", "longest_wait_ms", "oldest_hold_ms",
                                 "label", "limit", "first_owner", "db", "library", "ttl_ms"));
  EXPECT_EQ(LockColumn("key"), 0);
  EXPECT_EQ(LockColumn("ttl_ms"), 10);
}

TEST(LockColumns, OfALibraryAreOnlyInItsRows) {
  std::vector<Reply> values = {TextReply("order:42"), NumberReply(1),       NumberReply(0),
                               NumberReply(0),       NumberReply(7),       TextReply(""),
                               NumberReply(1),       TextReply("worker-1"), NumberReply(0)};
  EXPECT_FALSE(IsOfLibrary(RowOf(values)));
  EXPECT_EQ(NamesIn(RowOf(values)).size(), 9);
  EXPECT_EQ(NamesIn(RowOf(values)).back(), "db");

  std::vector<Reply> with_nil = values;
  with_nil.resize(11);
  EXPECT_FALSE(IsOfLibrary(RowOf(with_nil)));
  EXPECT_EQ(NamesIn(RowOf(with_nil)).size(), 9);

  values.insert(values.end(), {TextReply("redisson"), Reply()});
  EXPECT_TRUE(IsOfLibrary(RowOf(values)));
  EXPECT_EQ(NamesIn(RowOf(values)).size(), 11);
  EXPECT_EQ(NamesIn(RowOf(values)).back(), "ttl_ms");
}

TEST(LockColumns, UnknownOnesAreIgnoredAndMissingOnesLeftOut) {
  EXPECT_THAT(NamesIn(RowOf({TextReply("k"), NumberReply(1)})), ElementsAre("key", "holders"));
  EXPECT_THAT(NamesIn(RowOf({})), ElementsAre());
  EXPECT_EQ(NamesIn(RowOf(std::vector<Reply>(20, TextReply("x")))).size(), kLockColumns.size());
}

}  // namespace
}  // namespace fairlock::protocol
