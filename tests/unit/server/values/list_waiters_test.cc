#include "server/values/list_waiters.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "server/engine/api/attachment.h"

namespace fairlock::values {
namespace {

const ListWaiters::Key kA{0, "a"};
const ListWaiters::Key kB{0, "b"};

ListWait WaitFor(std::vector<std::string> keys, engine::TimeMs deadline = engine::kNever) {
  ListWait wait;
  wait.keys = std::move(keys);
  wait.deadline = deadline;
  return wait;
}

TEST(ListWaiters, AreInOrderOfArrivalForEachKey) {
  engine::Attachment first;
  engine::Attachment second;
  ListWaiters waiters;
  waiters.Add(first, WaitFor({"b", "a", "b"}));
  waiters.Add(second, WaitFor({"a"}));
  EXPECT_EQ(waiters.FirstFor(kA), &first);
  EXPECT_EQ(waiters.FirstFor(kB), &first);
  EXPECT_EQ(waiters.Remove(first)->keys.size(), 2U);
  EXPECT_EQ(waiters.FirstFor(kA), &second);
  EXPECT_EQ(waiters.FirstFor(kB), nullptr);
  EXPECT_FALSE(waiters.Remove(first));
  EXPECT_TRUE(waiters.Remove(second));
  EXPECT_TRUE(waiters.empty());
}

TEST(ListWaiters, NameEachReadyKeyOnce) {
  engine::Attachment client;
  ListWaiters waiters;
  waiters.NoticePush({0, "a"});
  EXPECT_FALSE(waiters.has_ready());
  waiters.Add(client, WaitFor({"a", "b"}));
  waiters.NoticePush({1, "a"});
  waiters.NoticePush({0, "b"});
  waiters.NoticePush({0, "a"});
  waiters.NoticePush({0, "b"});
  EXPECT_EQ(waiters.TakeReady(), kB);
  EXPECT_EQ(waiters.TakeReady(), kA);
  EXPECT_EQ(waiters.TakeReady(), std::nullopt);
}

TEST(ListWaiters, AreDueAfterTheirDeadline) {
  engine::Attachment late;
  engine::Attachment early;
  engine::Attachment endless;
  ListWaiters waiters;
  waiters.Add(late, WaitFor({"a"}, 20));
  waiters.Add(early, WaitFor({"a"}, 10));
  waiters.Add(endless, WaitFor({"a"}));
  EXPECT_EQ(waiters.NextDeadline(), 11);
  EXPECT_EQ(waiters.FirstDue(10), nullptr);
  EXPECT_EQ(waiters.FirstDue(11), &early);
  waiters.Remove(early);
  waiters.Remove(late);
  EXPECT_EQ(waiters.NextDeadline(), engine::kNever);
  EXPECT_NE(waiters.Find(endless), nullptr);
}

}  // namespace
}  // namespace fairlock::values
