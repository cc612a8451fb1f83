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

 private:
  std::optional<Value> value_;
};

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
  EXPECT_THAT(lock->queue_keys, ElementsAre("redisson_lock_queue:{job}"));
  const LibraryRemains remains = RemainsOf("job", *lock, "");
  EXPECT_THAT(remains.keys, IsEmpty());
  EXPECT_EQ(remains.channel, "redisson_lock__channel:{job}");
  EXPECT_EQ(remains.message, "0");
  EXPECT_EQ(RemainsOf("job", *lock, kOther).channel,
            "redisson_lock__channel:{job}:" + std::string(kOther));
}

TEST_F(LibraryLocks, RedissonAddsNoBracesToANameThatHasThem) {
  const auto lock = Read("{a}:job", HashOf({{kThread, "1"}}));
  ASSERT_TRUE(lock);
  EXPECT_THAT(lock->queue_keys, ElementsAre("redisson_lock_queue:{a}:job"));
  EXPECT_EQ(RemainsOf("{a}:job", *lock, "").channel, "redisson_lock__channel:{a}:job");
}

TEST_F(LibraryLocks, RedissonHasReadersAndWriters) {
  auto lock = Read("rw", HashOf({{"mode", "read"}, {kThread, "1"}, {kOther, "3"}}));
  ASSERT_TRUE(lock);
  EXPECT_THAT(OwnersOf(*lock), ElementsAre(kThread, kOther));
  EXPECT_TRUE(lock->is_shared);
  EXPECT_THAT(lock->queue_keys, IsEmpty());
  EXPECT_EQ(RemainsOf("rw", *lock, "").channel, "redisson_rwlock:{rw}");

  const std::string writer = std::string(kThread) + ":write";
  lock = Read("rw", HashOf({{"mode", "write"}, {writer, "1"}}));
  ASSERT_TRUE(lock);
  EXPECT_THAT(OwnersOf(*lock), ElementsAre(writer));
  EXPECT_FALSE(lock->is_shared);
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
  EXPECT_THAT(lock->queue_keys, IsEmpty());
  EXPECT_EQ(RemainsOf("report", *lock, "").channel, "");

  // The hold of one reader has ended at this moment.
  lock = Read("report", SortedSetOf({{Token('+'), end}, {Token('/'), end}, {Token('c'), kUnixMs}}));
  ASSERT_TRUE(lock);
  EXPECT_THAT(OwnersOf(*lock), ElementsAre(Token('+'), Token('/')));
  EXPECT_TRUE(lock->is_shared);
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
  EXPECT_EQ(RemainsOf("semaphore:seats", *lock, "").channel, "");
}

TEST_F(LibraryLocks, OtherSortedSetsAreNoSemaphores) {
  const SortedSet set = SortedSetOf({{"x", kUnixMs}});
  EXPECT_TRUE(IsLock("semaphore:seats", set));
  EXPECT_FALSE(IsLock("seats", set));
  EXPECT_FALSE(Read("semaphore:seats", set, 0));
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
  EXPECT_THAT(lock->queue_keys, ElementsAre("uniquejobs:d:QUEUED", "uniquejobs:d:PRIMED"));
  const LibraryRemains remains = RemainsOf("uniquejobs:d:LOCKED", *lock, "");
  EXPECT_THAT(remains.keys, ElementsAre("uniquejobs:d:QUEUED", "uniquejobs:d:PRIMED",
                                        "uniquejobs:d", "uniquejobs:d:INFO"));
  ASSERT_EQ(remains.memberships.size(), 2U);
  EXPECT_EQ(remains.memberships[0].key, "uniquejobs:digests");
  EXPECT_EQ(remains.memberships[0].member, "uniquejobs:d");
}

TEST_F(LibraryLocks, OtherHashesAreNotOfUniqueJobs) {
  const Hash hash = HashOf({{"j1", "1700000000"}});
  EXPECT_FALSE(IsLock(":LOCKED", hash));
  EXPECT_FALSE(IsLock("d:QUEUED", hash));
  EXPECT_FALSE(IsLock("d:LOCKED", HashOf({{"j1", "yes"}})));
  EXPECT_FALSE(IsLock("d:LOCKED", HashOf({{"j1", "1700000000 "}})));
  EXPECT_FALSE(IsLock("d:LOCKED", HashOf({{"j1", "1700000000"}, {"j2", "3"}})));
}

TEST_F(LibraryLocks, ListsAndSetsAreNone) {
  List list;
  list.Push(ListEnd::kLeft, kThread);
  Set set;
  set.Add(kThread);
  EXPECT_FALSE(IsLock("semaphore:a", list));
  EXPECT_FALSE(IsLock("a:LOCKED", set));
}

}  // namespace
}  // namespace fairlock::values
