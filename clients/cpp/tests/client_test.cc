// What the library does on a server that works.

#include <fairlock/client.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <string>
#include <thread>

#include "test_support.h"

namespace {

using namespace fairlock::client;
namespace asio = boost::asio;

TEST_F(ClientTest, HoldsUntilRelease) {
  auto hold = client.lock(key, {.lease = 30s, .wait = 10s});
  EXPECT_GT(hold.token(), 0);
  EXPECT_EQ(outside.Ask({"CHECK", key, std::to_string(hold.token())}), 1);
  EXPECT_TRUE(hold.release());
  EXPECT_EQ(outside.Holders(key), 0);
  EXPECT_FALSE(hold.release());
  EXPECT_THROW(hold.check(), LostHold);
  EXPECT_THROW((void)hold.token(), LostHold);
}

TEST_F(ClientTest, ReleasesAtTheEndOfTheScope) {
  {
    const auto hold = client.lock(key);
    EXPECT_EQ(outside.Holders(key), 1);
  }
  EXPECT_TRUE(Becomes([&] { return outside.Holders(key) == 0; }));
}

TEST_F(ClientTest, ReleasesBeforeTheClientIsGone) {
  {
    Client other(Here());
    const auto hold = other.lock(key);
  }
  EXPECT_EQ(outside.Holders(key), 0);
}

TEST_F(ClientTest, HoldMayOutliveItsClient) {
  Hold hold;
  {
    Client other(Here());
    hold = other.lock(key, {.lease = 30s});
  }
  EXPECT_FALSE(hold.release());
}

TEST_F(ClientTest, EmptyHoldHasNoKeysAndNoOwner) {
  const Hold empty;
  EXPECT_TRUE(empty.keys().empty());
  EXPECT_EQ(empty.owner(), "");
  EXPECT_EQ(empty.remaining(), 0ms);
  EXPECT_THROW(empty.check(), LostHold);
}

TEST_F(ClientTest, AssignmentReleasesTheEarlierLock) {
  auto hold = client.lock(key + "1");
  auto other = client.lock(key + "2");
  hold = std::move(other);
  EXPECT_TRUE(Becomes([&] { return outside.Holders(key + "1") == 0; }, 5s));
  EXPECT_TRUE(other.keys().empty());  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(hold.keys().front(), key + "2");
  auto& itself = hold;
  hold = std::move(itself);
  EXPECT_NO_THROW(hold.check());
  hold = {};
  EXPECT_TRUE(Becomes([&] { return outside.Holders(key + "2") == 0; }, 5s));
}

TEST_F(ClientTest, DenialNamesTheHolder) {
  const auto hold = client.lock(key, {.owner = "holder", .meta = "release 17"});
  try {
    client.lock(key, {.wait = 50ms});
    FAIL() << "it was granted";
  } catch (const Denied& denied) {
    const auto& why = denied.explanation();
    EXPECT_EQ(why.status, "timeout");
    EXPECT_EQ(why.reason, "held");
    ASSERT_EQ(why.holders.size(), 1U);
    EXPECT_EQ(why.holders[0].owner, "holder");
    EXPECT_EQ(why.holders[0].meta, "release 17");
  }
  EXPECT_EQ(outside.Waiters(key), 0);
}

TEST_F(ClientTest, TryLockDoesNotWait) {
  auto hold = client.try_lock(key);
  ASSERT_TRUE(hold.has_value());
  EXPECT_FALSE(client.try_lock(key).has_value());
  EXPECT_EQ(outside.Waiters(key), 0);
}

TEST_F(ClientTest, WaitersAreServedInOrder) {
  auto hold = client.lock(key);
  auto last = hold.token();
  std::vector<std::future<Hold>> waits;
  for (int i = 0; i < 50; ++i) {
    waits.push_back(client.lock(key, {}, asio::use_future));
    ASSERT_TRUE(Becomes([&] { return outside.Waiters(key) == i + 1 || i >= 10; }));
  }
  hold.release();
  for (auto& wait : waits) {
    auto next = wait.get();
    EXPECT_GT(next.token(), last);
    last = next.token();
    EXPECT_TRUE(next.release());
  }
}

asio::awaitable<std::int64_t> LockAndRelease(Client& client, std::string key) {
  const LockOptions options{.lease = 30s, .wait = 10s};
  auto hold = co_await client.lock(key, options, asio::use_awaitable);
  const auto token = hold.token();
  const bool was_held = co_await hold.release(asio::use_awaitable);
  co_return was_held ? token : 0;
}

TEST_F(ClientTest, CoroutinesAwaitLocks) {
  asio::io_context io;
  auto token = asio::co_spawn(io, LockAndRelease(client, key), asio::use_future);
  io.run();
  EXPECT_GT(token.get(), 0);
  EXPECT_EQ(outside.Holders(key), 0);
}

TEST_F(ClientTest, LeaseIsRenewed) {
  const auto hold = client.lock(key, {.lease = 1s});
  std::this_thread::sleep_for(2500ms);
  EXPECT_NO_THROW(hold.check());
  EXPECT_EQ(outside.Ask({"CHECK", key, std::to_string(hold.token())}), 1);
}

TEST_F(ClientTest, RenewalSetsTheLease) {
  auto hold = client.lock(key, {.lease = 200ms, .renew = false});
  hold.renew(30s);
  std::this_thread::sleep_for(400ms);
  EXPECT_NO_THROW(hold.check());
  EXPECT_GT(outside.Ask({"PTTL", key}), 20000);
}

TEST_F(ClientTest, RenewalNeverShortensTheLease) {
  auto hold = client.lock(key, {.lease = 60s});
  hold.renew(600ms);
  EXPECT_GT(hold.remaining(), 50s);
  EXPECT_GT(outside.Ask({"PTTL", key}), 50000);
}

TEST_F(ClientTest, TransferThatIsRefusedChangesNothing) {
  auto hold = client.lock(key, {.owner = "job:1", .limit = 2});
  const auto other = client.lock(key, {.owner = "job:2", .limit = 2});
  EXPECT_THROW(hold.transfer("job:2"), Refused);
  EXPECT_NO_THROW(hold.check());
  EXPECT_TRUE(hold.release());
}

TEST_F(ClientTest, HoldIsLostWhenItsLeaseEnds) {
  std::atomic<int> losses = 0;
  const LockOptions options{
      .lease = 200ms, .renew = false, .on_lost = [&](const std::string&) { ++losses; }};
  auto hold = client.lock(key, options);
  EXPECT_TRUE(Becomes([&] { return losses == 1; }));
  EXPECT_THROW(hold.check(), LostHold);
  EXPECT_FALSE(hold.release());
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(losses, 1);
}

TEST_F(ClientTest, ServerReportsABrokenHoldAtOnce) {
  std::promise<std::string> lost;
  const LockOptions options{.on_lost = [&](const std::string& reason) { lost.set_value(reason); }};
  const auto hold = client.lock(key, options);
  outside.Ask({"BREAK", key});
  auto reason = lost.get_future();
  ASSERT_EQ(reason.wait_for(10s), std::future_status::ready);
  EXPECT_NE(reason.get().find("broken"), std::string::npos);
  EXPECT_THROW(hold.check(), LostHold);
}

TEST_F(ClientTest, NewerWaitOfAnOwnerEndsTheOlderOne) {
  outside.Ask({"LOCK", key, "other"});
  auto older = client.lock(key, {.wait = 20s, .owner = "me"}, asio::use_future);
  auto newer = client.lock(key, {.wait = 20s, .owner = "me"}, asio::use_future);
  EXPECT_THROW(older.get(), WaitEnded);
  outside.Ask({"UNLOCK", key, "other"});
  EXPECT_GT(newer.get().token(), 0);
}

TEST_F(ClientTest, OwnerThatComesBackHearsOfItsGrant) {
  Client other(Here());
  std::optional<Hold> first = client.lock(key, {.owner = "me"});
  auto rival = other.lock(key, {.wait = 20s}, asio::use_future);
  ASSERT_TRUE(Becomes([&] { return outside.Waiters(key) == 1; }));
  first.reset();
  auto again = client.lock(key, {.wait = 20s, .owner = "me"}, asio::use_future);
  rival.get().release();
  EXPECT_GT(again.get().token(), 0);
}

// The messages may arrive after the next request of the owner.
TEST_F(ClientTest, MessagesAboutAnEarlierWaitOfTheOwnerAreNotBelieved) {
  outside.Ask({"LOCK", key, "other"});
  auto wait = client.lock(key, {.wait = 60s, .owner = "me"}, asio::use_future);
  ASSERT_TRUE(Becomes([&] { return outside.Waiters(key) == 1; }));
  std::vector<std::string> channels;
  ASSERT_TRUE(Becomes([&] {
    channels = outside.List({"PUBSUB", "CHANNELS"});
    return channels.size() == 1;
  }));
  const auto renewals = outside.Calls("renew");
  const auto questions = outside.Calls("position");
  for (const std::string event : {R"("granted","token":1)", R"("cancelled","token":null)",
                                  R"("timeout","token":null)", R"("lost","token":1)"}) {
    outside.Ask(
        {"PUBLISH", channels[0],
         R"({"event":)" + event + R"(,"key":")" + key + R"(","owner":"me","reason":null})"});
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(outside.Waiters(key), 1) << event;
    EXPECT_EQ(wait.wait_for(0s), std::future_status::timeout) << event;
  }
  EXPECT_EQ(outside.Calls("renew"), renewals + 1);
  EXPECT_EQ(outside.Calls("position"), questions + 2);
  outside.Ask({"UNLOCK", key, "other"});
  auto hold = wait.get();
  EXPECT_EQ(outside.Ask({"CHECK", key, std::to_string(hold.token())}), 1);
}

TEST_F(ClientTest, SemaphoreHasALimit) {
  const auto first = client.lock(key, {.limit = 2});
  const auto second = client.lock(key, {.limit = 2});
  EXPECT_FALSE(client.try_lock(key, {.limit = 2}).has_value());
  EXPECT_EQ(outside.Holders(key), 2);
}

TEST_F(ClientTest, ReadersShare) {
  const auto first = client.lock(key, {.shared = true});
  const auto second = client.lock(key, {.shared = true});
  EXPECT_FALSE(client.try_lock(key).has_value());
}

TEST_F(ClientTest, SeveralKeysAreTakenTogether) {
  const std::vector<std::string> keys{key + "1", key + "2"};
  auto both = client.lock(keys);
  EXPECT_EQ(outside.Holders(keys[0]) + outside.Holders(keys[1]), 2);
  EXPECT_FALSE(client.try_lock(keys[1]).has_value());
  auto wait = client.lock({key + "2", key + "3"}, {}, asio::use_future);
  ASSERT_TRUE(Becomes([&] { return outside.Waiters(keys[1]) == 1; }));
  EXPECT_TRUE(both.release());
  EXPECT_TRUE(wait.get().release());
}

TEST_F(ClientTest, TransferEndsTheHold) {
  auto hold = client.lock(key);
  const auto token = hold.transfer("next");
  EXPECT_THROW(hold.check(), LostHold);
  const auto next = client.lock(key, {.owner = "next"});
  EXPECT_EQ(next.token(), token);
}

TEST_F(ClientTest, PlaceIsKept) {
  auto other = client.lock(key);
  EXPECT_FALSE(client.try_lock(key, {.owner = "job", .keep = 60s}).has_value());
  EXPECT_EQ(outside.Waiters(key), 1);
  other.release();
  EXPECT_FALSE(client.try_lock(key).has_value());
  EXPECT_TRUE(client.try_lock(key, {.owner = "job"}).has_value());
}

TEST_F(ClientTest, MinHoldDelaysTheNext) {
  client.lock(key, {.min_hold = 60s}).release();
  EXPECT_FALSE(client.try_lock(key).has_value());
}

TEST_F(ClientTest, CircleOfWaitsIsRefused) {
  const auto a = client.lock(key + "a", {.owner = "one"});
  const auto b = client.lock(key + "b", {.owner = "two"});
  auto wait = client.lock(key + "b", {.owner = "one"}, asio::use_future);
  ASSERT_TRUE(Becomes([&] { return outside.Waiters(key + "b") == 1; }));
  EXPECT_THROW(client.lock(key + "a", {.owner = "two"}), Deadlock);
  outside.Ask({"CANCEL", key + "b", "one"});
  EXPECT_THROW(wait.get(), WaitEnded);
}

TEST_F(ClientTest, BytesNeedNotBeText) {
  const std::string owner("\xff\x00\x01", 3);
  auto hold = client.lock(key);
  auto wait = client.lock(key, {.owner = owner}, asio::use_future);
  ASSERT_TRUE(Becomes([&] { return outside.Waiters(key) == 1; }));
  hold.release();
  EXPECT_EQ(wait.get().owner(), owner);
}

TEST_F(ClientTest, ChildDoesNotHoldTheLockOfItsParent) {
  auto hold = client.lock(key);
  const pid_t child = fork();
  if (child == 0) {
    int code = 1;
    try {
      hold.check();
    } catch (const LostHold&) {
      code = hold.release() ? 2 : 0;
    }
    { const Hold gone = std::move(hold); }
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_NO_THROW(hold.check());
  EXPECT_TRUE(hold.release());
}

}  // namespace
