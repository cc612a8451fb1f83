// The locks of libraries: which values are taken for one, and what is read from them.

#include "server/values/library_locks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace fairlock::values {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr engine::TimeMs kUnixMs = 1'700'000'000'000;
constexpr const char* kThread = "b983c153-7421-469a-addb-44fb92259a1b:1";
constexpr const char* kOther = "0c6b1f5e-8f5a-4b0e-9a5d-b1b5a4f2f7d3:77";

Hash HashOf(const std::vector<std::pair<std::string, std::string>>& fields) {
  Hash hash;
  for (const auto& [name, text] : fields) hash.Set(name, text);
  return hash;
}

SortedSet SortedSetOf(const std::vector<std::pair<std::string, double>>& members) {
  SortedSet set;
  for (const auto& [name, score] : members) set.Set(name, score);
  return set;
}

std::string Token(char letter) { return std::string(43, letter) + "="; }

// What is recognised in a value with that key. The test keeps the value, of which the lock has
// views.
class LibraryLocks : public testing::Test {
 protected:
  std::optional<LibraryLock> Read(std::string_view key, Content content,
                                  engine::DurationMs ttl_ms = 30'000) {
    value_.emplace(engine::KeyName{.bytes = key}, 0, std::move(content));
    value_->ttl_ms = ttl_ms;
    return RecogniseLock(*value_, kUnixMs);
  }
  bool IsLock(std::string_view key, Content content) {
    return Read(key, std::move(content)).has_value();
  }
  // How BREAK ends that owner's hold, or all holds, of the lock that was read last.
  LibraryBreak Plan(const LibraryLock& lock, std::optional<std::string_view> owner = {},
                    std::string_view first_waiter = {}) {
    return PlanBreak(*value_, lock, owner, first_waiter);
  }

 private:
  std::optional<Value> value_;
};

std::vector<std::string> QueuesOf(const LibraryLock& lock) {
  std::vector<std::string> keys;
  for (const LibraryQueue& queue : lock.queues) keys.push_back(queue.key);
  return keys;
}

std::vector<std::string> OwnersOf(const LibraryLock& lock) {
  std::vector<std::string> owners;
  for (const LibraryHolder& holder : lock.holders) owners.emplace_back(holder.owner);
  return owners;
}

TEST_F(LibraryLocks, RedissonHasAHashOfThreads) {
  const auto lock = Read("job", HashOf({{kThread, "2"}}));
  ASSERT_TRUE(lock);
  EXPECT_EQ(lock->library, "redisson");
  EXPECT_THAT(OwnersOf(*lock), ElementsAre(kThread));
  EXPECT_FALSE(lock->is_shared);
  EXPECT_FALSE(lock->holders[0].end_unix_ms);
  EXPECT_THAT(QueuesOf(*lock), ElementsAre("redisson_lock_queue:{job}"));
  EXPECT_EQ(lock->queues[0].ends_key, "redisson_lock_timeout:{job}");
  EXPECT_EQ(lock->token_key, "redisson_lock_token:{job}");
  const LibraryBreak plan = Plan(*lock);
  EXPECT_TRUE(plan.is_whole);
  EXPECT_THAT(plan.keys, IsEmpty());
  EXPECT_EQ(plan.channel, "redisson_lock__channel:{job}");
  EXPECT_EQ(plan.message, "0");
  EXPECT_EQ(Plan(*lock, kThread, kOther).channel,
            "redisson_lock__channel:{job}:" + std::string(kOther));
}

TEST_F(LibraryLocks, RedissonAddsNoBracesToANameThatHasThem) {
  const auto lock = Read("{a}:job", HashOf({{kThread, "1"}}));
  ASSERT_TRUE(lock);
  EXPECT_THAT(QueuesOf(*lock), ElementsAre("redisson_lock_queue:{a}:job"));
  EXPECT_EQ(Plan(*lock).channel, "redisson_lock__channel:{a}:job");
}

TEST_F(LibraryLocks, RedissonHasReadersAndWriters) {
  auto lock = Read("rw", HashOf({{"mode", "read"}, {kThread, "1"}, {kOther, "3"}}));
  ASSERT_TRUE(lock);
  EXPECT_THAT(OwnersOf(*lock), ElementsAre(kThread, kOther));
  EXPECT_TRUE(lock->is_shared);
  EXPECT_THAT(lock->queues, IsEmpty());
  LibraryBreak plan = Plan(*lock);
  EXPECT_EQ(plan.channel, "redisson_rwlock:{rw}");
  EXPECT_EQ(plan.message, "0");
  const std::string reading = "{rw}:" + std::string(kThread) + ":rwlock_timeout:1";
  EXPECT_THAT(plan.keys, testing::SizeIs(4));
  EXPECT_EQ(plan.keys[0], reading);

  // One reader ends: the value lives as long as the readings of the other one.
  plan = Plan(*lock, kOther);
  EXPECT_FALSE(plan.is_whole);
  EXPECT_THAT(plan.keys, testing::SizeIs(3));
  EXPECT_THAT(plan.end_keys, ElementsAre(reading));
  EXPECT_EQ(plan.channel, "");

  const std::string writer = std::string(kThread) + ":write";
  lock = Read("rw", HashOf({{"mode", "write"}, {writer, "1"}}));
  ASSERT_TRUE(lock);
  EXPECT_THAT(OwnersOf(*lock), ElementsAre(writer));
  EXPECT_FALSE(lock->is_shared);
  EXPECT_EQ(Plan(*lock).message, "1");  // wakes all readers
  EXPECT_THAT(Plan(*lock).keys, IsEmpty());

  // The writer reads too. Without its writing, it is a reader.
  lock = Read("rw", HashOf({{"mode", "write"}, {writer, "1"}, {kThread, "1"}}));
  ASSERT_TRUE(lock);
  EXPECT_TRUE(Plan(*lock, writer).leaves_readers);
  EXPECT_THAT(Plan(*lock, writer).end_keys, ElementsAre(reading));
  EXPECT_FALSE(Plan(*lock, kThread).leaves_readers);
  EXPECT_THAT(Plan(*lock, kThread).end_keys, IsEmpty());
}

TEST_F(LibraryLocks, TheReadingsOfOneReaderAreBounded) {
  const auto lock = Read("rw", HashOf({{"mode", "read"}, {kThread, "9000000000000000000"}}));
  ASSERT_TRUE(lock);
  EXPECT_THAT(Plan(*lock).keys, testing::SizeIs(1000));
}

TEST_F(LibraryLocks, RedissonHasASortedSetOfPermits) {
  constexpr double kNoEnd = 922337203685477;
  const std::string a(16, '\x0a'), b(16, '\xff'), c(16, 'c');
  const auto set = [&] { return SortedSetOf({{a, kUnixMs + 500}, {b, kNoEnd}, {c, kUnixMs}}); };
  const auto lock = Read("{seats}:timeout", set(), 0);
  ASSERT_TRUE(lock);
  EXPECT_EQ(lock->library, "redisson");
  const std::string a_hex = "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a";
  EXPECT_THAT(OwnersOf(*lock), ElementsAre(a_hex, std::string(32, 'f')));
  EXPECT_EQ(lock->holders[0].element, a);
  EXPECT_EQ(lock->holders[0].end_unix_ms, kUnixMs + 500);
  EXPECT_FALSE(lock->holders[1].end_unix_ms);
  EXPECT_EQ(lock->overdue_count, 1U);
  EXPECT_THAT(lock->permits_keys, ElementsAre("seats", "{seats}"));
  EXPECT_EQ(Plan(*lock, a_hex).permits, 1U);
  EXPECT_EQ(Plan(*lock).permits, 3U);
  EXPECT_EQ(Plan(*lock).channel, "redisson_sc:{seats}");
  EXPECT_THAT(Read("a{b}:timeout", set())->permits_keys, ElementsAre("a{b}"));
}

TEST_F(LibraryLocks, OtherSortedSetsAreNoPermits) {
  const std::string id(16, 'a');
  EXPECT_TRUE(IsLock("{seats}:timeout", SortedSetOf({{id, kUnixMs + 5}})));
  EXPECT_FALSE(IsLock("seats:timeout", SortedSetOf({{id, kUnixMs + 5}})));
  EXPECT_FALSE(IsLock("{seats}", SortedSetOf({{id, kUnixMs + 5}})));
  EXPECT_FALSE(IsLock("{seats}:timeout", SortedSetOf({{id + "b", kUnixMs + 5}})));
  EXPECT_FALSE(IsLock("{seats}:timeout", SortedSetOf({{id, 5}})));
  EXPECT_FALSE(IsLock("{seats}:timeout", SortedSetOf({{id, kUnixMs}})));
}

TEST_F(LibraryLocks, TheQueueOfAFairLockStandsForTheLock) {
  const auto keys = [](std::string_view key, const std::vector<std::string>& elements) {
    List list;
    for (const std::string& element : elements) list.Push(ListEnd::kRight, element);
    return LocksOfQueue(Value({.bytes = key}, 0, std::move(list)));
  };
  EXPECT_THAT(keys("redisson_lock_queue:{fair}", {kThread, kOther}), ElementsAre("fair", "{fair}"));
  EXPECT_THAT(keys("redisson_lock_queue:a{b}", {kThread}), ElementsAre("a{b}"));
  EXPECT_THAT(keys("redisson_lock_queue:{a}{b}", {kThread}), ElementsAre("{a}{b}"));
  EXPECT_THAT(keys("redisson_lock_queue:{}", {kThread}), ElementsAre("{}"));
  EXPECT_THAT(keys("redisson_lock_queue:fair", {kThread}), IsEmpty());
  EXPECT_THAT(keys("redisson_lock_queues:{fair}", {kThread}), IsEmpty());
  EXPECT_THAT(keys("redisson_lock_queue:{fair}", {kThread, "x"}), IsEmpty());
  EXPECT_THAT(LocksOfQueue(Value({.bytes = "redisson_lock_queue:{fair}"}, 0, HashOf({{"a", "b"}}))),
              IsEmpty());
  EXPECT_THAT(QueuesOf(FreeLockOf("fair")), ElementsAre("redisson_lock_queue:{fair}"));
}

TEST(BesideLocks, OnlyNumbersOfRedissonAreNoLocks) {
  const std::string reading = "{rw}:" + std::string(kThread) + ":rwlock_timeout:";
  EXPECT_TRUE(IsBesideLock("redisson_lock_token:{job}", "17"));
  EXPECT_FALSE(IsBesideLock("redisson_lock_token:{job}", "me"));
  EXPECT_FALSE(IsBesideLock("redisson_lock_token:{job}", ""));
  EXPECT_TRUE(IsBesideLock("redisson_unlock_latch:{job}:5f", "1"));
  EXPECT_FALSE(IsBesideLock("redisson_unlock_latch:{job}:5f", "2"));
  EXPECT_TRUE(IsBesideLock(reading + "12", "1"));
  EXPECT_FALSE(IsBesideLock(reading + "12", "2"));
  EXPECT_FALSE(IsBesideLock(reading, "1"));
  EXPECT_FALSE(IsBesideLock(reading + "1x", "1"));
  EXPECT_FALSE(IsBesideLock("rw:rwlock_timeout:1", "1"));
  EXPECT_FALSE(IsBesideLock("job", "1"));
}

TEST_F(LibraryLocks, OtherHashesAreNoLocksOfRedisson) {
  EXPECT_FALSE(IsLock("h", HashOf({{"a", "1"}})));
  EXPECT_FALSE(IsLock("h", HashOf({{"u1:1", "1"}})));
  EXPECT_FALSE(IsLock("h", HashOf({{kThread, "0"}})));
  EXPECT_FALSE(IsLock("h", HashOf({{kThread, "x"}})));
  EXPECT_FALSE(IsLock("h", HashOf({{kThread, "1"}, {"name", "1"}})));
  EXPECT_FALSE(IsLock("h", HashOf({{std::string(kThread) + "x", "1"}})));
  EXPECT_FALSE(IsLock("h", HashOf({{std::string(kThread, 37), "1"}})));
  EXPECT_FALSE(IsLock("h", HashOf({{"mode", "read"}})));
  EXPECT_FALSE(IsLock("h", HashOf({{"mode", "dark"}, {kThread, "1"}})));
}

TEST_F(LibraryLocks, SymfonyHasASortedSetOfTokens) {
  const double end = kUnixMs + 500;
  auto lock = Read("report", SortedSetOf({{Token('a'), end}, {"__write__", end}}));
  ASSERT_TRUE(lock);
  EXPECT_EQ(lock->library, "symfony");
  EXPECT_THAT(OwnersOf(*lock), ElementsAre(Token('a')));
  EXPECT_EQ(lock->holders[0].end_unix_ms, kUnixMs + 500);
  EXPECT_FALSE(lock->is_shared);
  EXPECT_THAT(lock->queues, IsEmpty());
  EXPECT_EQ(Plan(*lock).channel, "");

  // The hold of one reader has ended at this moment.
  lock = Read("report", SortedSetOf({{Token('+'), end}, {Token('/'), end}, {Token('c'), kUnixMs}}));
  ASSERT_TRUE(lock);
  EXPECT_THAT(OwnersOf(*lock), ElementsAre(Token('+'), Token('/')));
  EXPECT_TRUE(lock->is_shared);
  EXPECT_EQ(Plan(*lock, Token('+')).end_unix_ms, kUnixMs + 500);
}

TEST_F(LibraryLocks, OtherSortedSetsAreNoLocksOfSymfony) {
  const double end = kUnixMs + 500;
  EXPECT_FALSE(IsLock("z", SortedSetOf({{"__write__", end}})));
  EXPECT_FALSE(IsLock("z", SortedSetOf({{"a", end}})));
  EXPECT_FALSE(IsLock("z", SortedSetOf({{Token('a'), end}, {"a", end}})));
  EXPECT_FALSE(IsLock("z", SortedSetOf({{Token('a'), 1.5}})));
  EXPECT_FALSE(IsLock("z", SortedSetOf({{Token('-'), end}})));
  EXPECT_FALSE(IsLock("z", SortedSetOf({{std::string(44, 'a'), end}})));
  EXPECT_FALSE(IsLock("z", SortedSetOf({{Token('a'), kUnixMs - 1}})));
}

TEST_F(LibraryLocks, RedisSemaphoreHasASortedSetOfRefreshes) {
  const auto lock =
      Read("semaphore:seats",
           SortedSetOf({{"x", kUnixMs - 2000}, {"y_0", kUnixMs - 10}, {"y_1", kUnixMs}}), 2000);
  ASSERT_TRUE(lock);
  EXPECT_EQ(lock->library, "redis-semaphore");
  EXPECT_THAT(OwnersOf(*lock), ElementsAre("y_0", "y_1"));
  EXPECT_EQ(lock->holders[0].end_unix_ms, kUnixMs + 1990);
  EXPECT_EQ(Plan(*lock).channel, "");
  EXPECT_FALSE(Plan(*lock, "y_1").is_whole);
}

TEST_F(LibraryLocks, OtherSortedSetsAreNoSemaphores) {
  const auto set = [] { return SortedSetOf({{"x", kUnixMs}}); };
  EXPECT_TRUE(IsLock("semaphore:seats", set()));
  EXPECT_FALSE(IsLock("seats", set()));
  EXPECT_FALSE(Read("semaphore:seats", set(), 0));
  EXPECT_FALSE(IsLock("semaphore:seats", SortedSetOf({{"x", 1}})));
  EXPECT_FALSE(Read("semaphore:seats", SortedSetOf({{"x", kUnixMs - 5}}), 5));
}

TEST_F(LibraryLocks, TheKeyOfASymfonyLockMayLookLikeThatOfASemaphore) {
  const auto lock = Read("semaphore:report", SortedSetOf({{Token('a'), kUnixMs + 500}}));
  ASSERT_TRUE(lock);
  EXPECT_EQ(lock->library, "symfony");
}

TEST_F(LibraryLocks, UniqueJobsHasAHashOfJobs) {
  const auto lock =
      Read("uniquejobs:d:LOCKED", HashOf({{"j1", "1699999999.25"}, {"j2", "1700000000"}}));
  ASSERT_TRUE(lock);
  EXPECT_EQ(lock->library, "unique-jobs");
  EXPECT_THAT(OwnersOf(*lock), ElementsAre("j1", "j2"));
  EXPECT_EQ(lock->holders[0].since_unix_ms, kUnixMs - 750);
  EXPECT_THAT(QueuesOf(*lock), ElementsAre("uniquejobs:d:PRIMED", "uniquejobs:d:QUEUED"));
  LibraryBreak plan = Plan(*lock);
  EXPECT_THAT(plan.keys, ElementsAre("uniquejobs:d", "uniquejobs:d:INFO", "uniquejobs:d:PRIMED"));
  ASSERT_EQ(plan.memberships.size(), 2U);
  EXPECT_EQ(plan.memberships[0].key, "uniquejobs:digests");
  EXPECT_EQ(plan.memberships[0].member, "uniquejobs:d");
  ASSERT_TRUE(plan.push);
  EXPECT_EQ(plan.push->key, "uniquejobs:d:QUEUED");
  EXPECT_EQ(plan.push->element, "1");

  plan = Plan(*lock, "j2");
  EXPECT_FALSE(plan.is_whole);
  EXPECT_THAT(plan.keys, ElementsAre("uniquejobs:d", "uniquejobs:d:INFO"));
  EXPECT_THAT(plan.memberships, IsEmpty());
  EXPECT_TRUE(plan.push);
}

TEST_F(LibraryLocks, UniqueJobs9HasAHashOfObjectsAndNoLists) {
  const auto lock =
      Read("uniquejobs:d:LOCKED",
           HashOf({{"j1", R"({"worker":"W","lock_args":[{"time":5},"a \" } , \"time\": 7"],)"
                          R"("type":"time","time" : 1699999999.25,"at":null})"},
                   {"j2", R"({"time":1700000000})"}}));
  ASSERT_TRUE(lock);
  EXPECT_EQ(lock->library, "unique-jobs");
  EXPECT_THAT(OwnersOf(*lock), ElementsAre("j1", "j2"));
  EXPECT_EQ(lock->holders[0].since_unix_ms, kUnixMs - 750);
  EXPECT_EQ(lock->holders[1].since_unix_ms, kUnixMs);
  EXPECT_THAT(lock->queues, IsEmpty());
  LibraryBreak plan = Plan(*lock);
  EXPECT_THAT(plan.keys, ElementsAre("uniquejobs:d", "uniquejobs:d:QUEUED", "uniquejobs:d:PRIMED",
                                     "uniquejobs:d:INFO"));
  ASSERT_EQ(plan.memberships.size(), 1U);
  EXPECT_EQ(plan.memberships[0].key, "uniquejobs:digests");
  EXPECT_EQ(plan.memberships[0].member, "uniquejobs:d");
  EXPECT_FALSE(plan.push);

  plan = Plan(*lock, "j2");
  EXPECT_THAT(plan.keys, IsEmpty());
  EXPECT_THAT(plan.memberships, IsEmpty());
  EXPECT_FALSE(plan.push);
}

TEST_F(LibraryLocks, OtherHashesAreNotOfUniqueJobs) {
  for (const char* text : {R"({"time":"1700000000"})", R"({"time":5})", R"({"at":1700000000})",
                           "{}", R"({"a":{"time":1700000000}})", R"({"time":1700000000)",
                           R"({"time)", R"({"time":})", R"(["time",1700000000])", R"({"x\)"}) {
    EXPECT_FALSE(IsLock("d:LOCKED", HashOf({{"j1", text}}))) << text;
  }
  EXPECT_FALSE(IsLock("uniquejobs:metrics|261128|4:50", HashOf({{"total|locked", "3"}})));
  const auto hash = [] { return HashOf({{"j1", "1700000000"}}); };
  EXPECT_FALSE(IsLock(":LOCKED", hash()));
  EXPECT_FALSE(IsLock("d:QUEUED", hash()));
  EXPECT_FALSE(IsLock("d:LOCKED", HashOf({{"j1", "yes"}})));
  EXPECT_FALSE(IsLock("d:LOCKED", HashOf({{"j1", "1700000000 "}})));
  EXPECT_FALSE(IsLock("d:LOCKED", HashOf({{"j1", "1700000000"}, {"j2", "3"}})));
}

TEST_F(LibraryLocks, ListsAndSetsAreNone) {
  List list;
  list.Push(ListEnd::kLeft, kThread);
  Set set;
  set.Add(kThread);
  EXPECT_FALSE(IsLock("semaphore:a", std::move(list)));
  EXPECT_FALSE(IsLock("a:LOCKED", std::move(set)));
}

}  // namespace
}  // namespace fairlock::values
