// Tests the installed library with a server that with_own_server.py has started.

#include <fairlock/client.h>
#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <cstdlib>
#include <future>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;
using namespace fairlock::client;
namespace asio = boost::asio;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string Address() { return "127.0.0.1:" + Environment("FAIRLOCK_PORT"); }

Settings Here() { return {.addresses = {Address()}}; }

bool Becomes(const std::function<bool()>& condition) {
  const auto give_up = std::chrono::steady_clock::now() + 20s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

// The locks as another client sees them.
class Outside {
 public:
  Outside() : context_(redisConnect("127.0.0.1", std::stoi(Environment("FAIRLOCK_PORT")))) {}
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
  ~Outside() { redisFree(context_); }

  // An integer, or the number of elements, or -1 for nil.
  long long Ask(const std::vector<std::string>& words) {
    auto* reply = Send(words);
    const long long number = reply->type == REDIS_REPLY_INTEGER ? reply->integer
                             : reply->type == REDIS_REPLY_ARRAY
                                 ? static_cast<long long>(reply->elements)
                                 : -1;
    freeReplyObject(reply);
    return number;
  }

  std::string Text(const std::vector<std::string>& words) {
    auto* reply = Send(words);
    std::string text = reply->str == nullptr ? "" : std::string(reply->str, reply->len);
    freeReplyObject(reply);
    return text;
  }

  long long Holders(const std::string& key) { return Ask({"LOCKED", key}); }
  long long Waiters(const std::string& key) { return Ask({"QUEUE", key}); }

 private:
  redisReply* Send(const std::vector<std::string>& words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const auto& word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    auto* reply = static_cast<redisReply*>(
        redisCommandArgv(context_, static_cast<int>(words.size()), texts.data(), sizes.data()));
    if (reply == nullptr) throw std::runtime_error(context_->errstr);
    return reply;
  }

  redisContext* context_;
};

int Renewals(const std::string& statistics) {
  const std::string words = "cmdstat_renew:calls=";
  const auto found = statistics.find(words);
  return found == std::string::npos ? 0 : std::stoi(statistics.substr(found + words.size()));
}

// Each test has its own key.
class ClientTest : public testing::Test {
 protected:
  const std::string key = testing::UnitTest::GetInstance()->current_test_info()->name();
  Outside outside;
  Client client{Here()};
};

// Stops a process for as long as it lives.
class Stopped {
 public:
  Stopped() { kill(process_, SIGSTOP); }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;
  ~Stopped() { kill(process_, SIGCONT); }

 private:
  pid_t process_ = std::stoi(Environment("FAIRLOCK_PID"));
};

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

TEST_F(ClientTest, WaitSurvivesItsConnection) {
  const std::string first = "first";
  outside.Ask({"LOCK", key, first, "PX", "30000"});
  auto wait = client.lock(key, {.owner = "second"}, asio::use_future);
  ASSERT_TRUE(Becomes([&] { return outside.Waiters(key) == 1; }));
  outside.Ask({"CLIENT", "KILL", "SKIPME", "YES", "TYPE", "NORMAL"});
  outside.Ask({"CLIENT", "KILL", "SKIPME", "YES", "TYPE", "PUBSUB"});
  EXPECT_EQ(wait.wait_for(300ms), std::future_status::timeout);
  EXPECT_EQ(outside.Waiters(key), 1);
  outside.Ask({"UNLOCK", key, first});
  ASSERT_EQ(wait.wait_for(10s), std::future_status::ready);
  EXPECT_EQ(wait.get().owner(), "second");
}

TEST_F(ClientTest, NewerWaitOfAnOwnerEndsTheOlderOne) {
  outside.Ask({"LOCK", key, "other"});
  auto older = client.lock(key, {.wait = 20s, .owner = "me"}, asio::use_future);
  auto newer = client.lock(key, {.wait = 20s, .owner = "me"}, asio::use_future);
  EXPECT_THROW(older.get(), WaitEnded);
  outside.Ask({"UNLOCK", key, "other"});
  EXPECT_NO_THROW(newer.get().token());
}

TEST_F(ClientTest, OwnerThatComesBackHearsOfItsGrant) {
  Client other(Here());
  std::optional<Hold> first = client.lock(key, {.owner = "me"});
  auto rival = other.lock(key, {.wait = 20s}, asio::use_future);
  ASSERT_TRUE(Becomes([&] { return outside.Waiters(key) == 1; }));
  first.reset();
  auto again = client.lock(key, {.wait = 20s, .owner = "me"}, asio::use_future);
  rival.get().release();
  EXPECT_NO_THROW(again.get().token());
}

TEST_F(ClientTest, CancelledWaitLeavesNoPlace) {
  const auto hold = client.lock(key);
  asio::cancellation_signal signal;
  auto wait = client.lock(key, {}, asio::bind_cancellation_slot(signal.slot(), asio::use_future));
  ASSERT_TRUE(Becomes([&] { return outside.Waiters(key) == 1; }));
  signal.emit(asio::cancellation_type::all);
  EXPECT_THROW(wait.get(), boost::system::system_error);
  EXPECT_EQ(outside.Waiters(key), 0);
  EXPECT_NO_THROW(hold.check());
}

TEST_F(ClientTest, CancellationAtAnyMomentLeavesNothing) {
  for (int i = 0; i < 60; ++i) {
    asio::io_context io;
    asio::cancellation_signal signal;
    std::exception_ptr outcome;
    bool is_done = false;
    auto handler = [&](std::exception_ptr error, Hold) {
      outcome = error;
      is_done = true;
    };
    auto blocker = i % 2 == 0 ? client.try_lock(key) : std::nullopt;
    asio::post(io, [&] {
      client.lock(key, {.wait = 10s},
                  asio::bind_cancellation_slot(signal.slot(),
                                               asio::bind_executor(io.get_executor(), handler)));
    });
    io.run_one();
    std::this_thread::sleep_for(std::chrono::microseconds(i * 50));
    if (blocker) blocker->release();
    signal.emit(asio::cancellation_type::all);
    io.run();
    EXPECT_TRUE(is_done);
    ASSERT_TRUE(Becomes([&] { return outside.Holders(key) == 0; }));
    EXPECT_EQ(outside.Waiters(key), 0);
  }
}

TEST_F(ClientTest, ClientThatGoesLeavesNoPlace) {
  const auto hold = client.lock(key);
  std::future<Hold> wait;
  {
    Client other(Here());
    wait = other.lock(key, {}, asio::use_future);
    ASSERT_TRUE(Becomes([&] { return outside.Waiters(key) == 1; }));
  }
  EXPECT_THROW(wait.get(), boost::system::system_error);
  EXPECT_EQ(outside.Waiters(key), 0);
}

TEST_F(ClientTest, HoldIsLostWhileTheServerIsSilent) {
  auto hold = client.lock(key, {.lease = 1s});
  const Stopped server;
  std::this_thread::sleep_for(1100ms);
  EXPECT_THROW(hold.check(), LostHold);
}

TEST_F(ClientTest, LeaseCountsFromTheRequest) {
  client.lock(key).release();  // connects
  std::future<Hold> wait;
  {
    const Stopped server;
    wait = client.lock(key, {.lease = 40s, .renew = false}, asio::use_future);
    std::this_thread::sleep_for(1s);
  }
  const auto remaining = wait.get().remaining();
  EXPECT_LE(remaining, 39s);
  EXPECT_GT(remaining, 20s);
}

TEST_F(ClientTest, LateGrantIsConfirmed) {
  client.lock(key).release();  // connects
  const auto before = outside.Text({"INFO", "commandstats"});
  std::future<Hold> wait;
  {
    const Stopped server;
    wait = client.lock(key, {.lease = 4s, .renew = false}, asio::use_future);
    std::this_thread::sleep_for(600ms);
  }
  EXPECT_NO_THROW(wait.get().check());
  const auto after = outside.Text({"INFO", "commandstats"});
  EXPECT_EQ(Renewals(after), Renewals(before) + 1);
}

TEST_F(ClientTest, SilentServerIsGivenUpAndAskedAgain) {
  Client impatient({.addresses = {Address()}, .reply_timeout = 200ms});
  impatient.lock(key).release();
  std::future<Hold> wait;
  {
    const Stopped server;
    wait = impatient.lock(key, {.wait = 10s, .owner = "one"}, asio::use_future);
    std::this_thread::sleep_for(500ms);
  }
  EXPECT_EQ(wait.get().owner(), "one");
}

TEST_F(ClientTest, NextAddressIsTried) {
  Client other({.addresses = {"127.0.0.1:1", Address()}});
  EXPECT_GT(other.lock(key, {.wait = 5s}).token(), 0);
}

TEST_F(ClientTest, UnreachableServerEndsTheWait) {
  Client other({.addresses = {"127.0.0.1:1"}});
  EXPECT_THROW(other.lock(key, {.wait = 100ms}), ConnectionFailed);
  EXPECT_THROW(other.try_lock(key), ConnectionFailed);
}

TEST_F(ClientTest, WrongPasswordIsRefused) {
  Client other({.addresses = {Address()}, .user = "nobody", .password = "wrong"});
  EXPECT_THROW(other.lock(key), Refused);
}

TEST_F(ClientTest, RedisIsNotFairlock) {
  Client other({.addresses = {"127.0.0.1:" + Environment("REDIS_PORT")}});
  EXPECT_THROW(other.lock(key), NotFairlock);
}

TEST_F(ClientTest, TlsVerifiesTheServer) {
  Settings settings{.addresses = {"localhost:" + Environment("FAIRLOCK_TLS_PORT")},
                    .tls = true,
                    .ca_file = Environment("FAIRLOCK_TLS_CA"),
                    .certificate_file = Environment("FAIRLOCK_TLS_CERT"),
                    .key_file = Environment("FAIRLOCK_TLS_KEY")};
  EXPECT_GT(Client(settings).lock(key).release(), 0);
  settings.ca_file.clear();
  Client stranger(settings);
  EXPECT_THROW(stranger.lock(key), Refused);
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
