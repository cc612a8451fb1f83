// What the library does when waits are cancelled, connections are cut, and the server is silent.

#include <fairlock/client.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <future>
#include <string>
#include <thread>

#include "test_support.h"

namespace {

using namespace fairlock::client;
namespace asio = boost::asio;
using FailureTest = ClientTest;
using Clock = std::chrono::steady_clock;

bool IsLost(const Hold& hold) {
  try {
    hold.check();
    return false;
  } catch (const LostHold&) {
    return true;
  }
}

// A lock that is asked for with a cancellation slot.
struct CancellableLock {
  CancellableLock(Client& client, const std::string& key, const LockOptions& options)
      : result(client.lock(key, options,
                           asio::bind_cancellation_slot(signal.slot(), asio::use_future))) {}

  // Returns the time until the wait ended.
  Clock::duration Cancel() {
    const auto begin = Clock::now();
    signal.emit(asio::cancellation_type::all);
    EXPECT_THROW(result.get(), boost::system::system_error);
    return Clock::now() - begin;
  }

  asio::cancellation_signal signal;
  std::future<Hold> result;
};

TEST_F(FailureTest, WaitSurvivesItsConnection) {
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

TEST_F(FailureTest, CancelledWaitLeavesNoPlace) {
  const auto hold = client.lock(key);
  asio::cancellation_signal signal;
  auto wait = client.lock(key, {}, asio::bind_cancellation_slot(signal.slot(), asio::use_future));
  ASSERT_TRUE(Becomes([&] { return outside.Waiters(key) == 1; }));
  signal.emit(asio::cancellation_type::all);
  EXPECT_THROW(wait.get(), boost::system::system_error);
  EXPECT_EQ(outside.Waiters(key), 0);
  EXPECT_NO_THROW(hold.check());
}

TEST_F(FailureTest, CancellationAtAnyMomentLeavesNothing) {
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

TEST_F(FailureTest, ClientThatGoesLeavesNoPlace) {
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

TEST_F(FailureTest, HoldIsLostWhileTheServerIsSilent) {
  auto hold = client.lock(key, {.lease = 1s});
  const Stopped server;
  std::this_thread::sleep_for(1100ms);
  EXPECT_THROW(hold.check(), LostHold);
}

TEST_F(FailureTest, RenewalWithoutAReplyChangesNothing) {
  auto hold = client.lock(key, {.lease = 60s, .renew = false});
  std::future<bool> renewal;
  {
    const Stopped server;
    renewal = hold.renew(500ms, asio::use_future);
    std::this_thread::sleep_for(700ms);
    EXPECT_NO_THROW(hold.check());
  }
  EXPECT_TRUE(renewal.get());
  EXPECT_GT(hold.remaining(), 50s);
}

TEST_F(FailureTest, HoldIsDoubtfulFromItsTransferOn) {
  std::atomic<int> losses = 0;
  auto hold = client.lock(key, {.lease = 60s, .on_lost = [&](const std::string&) { ++losses; }});
  std::future<std::int64_t> transfer;
  {
    const Stopped server;
    transfer = hold.transfer("next", asio::use_future);
    EXPECT_TRUE(Becomes([&] { return IsLost(hold); }, 1s));
    EXPECT_THROW(static_cast<void>(hold.token()), LostHold);
    EXPECT_THROW(hold.renew(), LostHold);
  }
  EXPECT_GT(transfer.get(), 0);
  EXPECT_EQ(losses, 0);
}

TEST_F(FailureTest, HoldIsLostIfItsTransferIsNeverConfirmed) {
  std::atomic<int> losses = 0;
  auto hold = client.lock(key, {.lease = 1s, .on_lost = [&](const std::string&) { ++losses; }});
  const Stopped server;
  EXPECT_THROW(hold.transfer("next"), Error);
  EXPECT_TRUE(Becomes([&] { return losses == 1; }, 3s));
  EXPECT_THROW(hold.check(), LostHold);
}

TEST_F(FailureTest, LeaseCountsFromTheRequest) {
  client.lock(key).release();  // connects
  std::future<Hold> wait;
  {
    const Stopped server;
    wait = client.lock(key, {.lease = 40s, .renew = false}, asio::use_future);
    std::this_thread::sleep_for(2s);  // the request is sent in the first half
  }
  const auto remaining = wait.get().remaining();
  EXPECT_LE(remaining, 39s);
  EXPECT_GT(remaining, 20s);
}

TEST_F(FailureTest, LateGrantIsConfirmed) {
  client.lock(key).release();  // connects
  const auto before = outside.Calls("renew");
  std::future<Hold> wait;
  {
    const Stopped server;
    wait = client.lock(key, {.lease = 4s, .renew = false}, asio::use_future);
    std::this_thread::sleep_for(600ms);
  }
  EXPECT_NO_THROW(wait.get().check());
  EXPECT_EQ(outside.Calls("renew"), before + 1);
}

TEST_F(FailureTest, SilentServerIsGivenUpAndAskedAgain) {
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

TEST_F(FailureTest, CancelledWaitDoesNotWaitForASilentServer) {
  client.lock(key).release();  // connects
  const auto before = outside.Calls("unlock");
  const auto connections = outside.Connections();
  {
    const Stopped server;
    CancellableLock lock(client, key, {});
    std::this_thread::sleep_for(100ms);
    EXPECT_LT(lock.Cancel(), 2s);
  }
  // The server executes the request now, and then the release.
  EXPECT_TRUE(Becomes([&] { return outside.Calls("unlock") == before + 1; }));
  EXPECT_EQ(outside.Holders(key), 0);
  EXPECT_NO_THROW(client.lock(key).check());
  EXPECT_EQ(outside.Connections(), connections);  // others use the same one
}

// The release of the first wait, which is repeated, must not release the second one's lock.
TEST_F(FailureTest, OwnerMayAskAgainAfterACancelledWait) {
  Client impatient({.addresses = {Address()}, .reply_timeout = 100ms});
  impatient.lock(key).release();  // connects
  std::future<Hold> again;
  {
    const Stopped server;
    CancellableLock lock(impatient, key, {.owner = "one"});
    std::this_thread::sleep_for(300ms);
    lock.Cancel();
    again = impatient.lock(key, {.owner = "one"}, asio::use_future);
    std::this_thread::sleep_for(500ms);
  }
  const auto hold = again.get();
  std::this_thread::sleep_for(1500ms);
  EXPECT_NO_THROW(hold.check());
  EXPECT_EQ(outside.Holders(key), 1);
}

// Notes whether the operation has begun when the slot is assigned.
struct ProbingSlot {
  [[nodiscard]] bool is_connected() const { return true; }
  void clear() {}
  template <typename Handler>
  void assign(Handler) {
    *has_begun = Becomes([this] { return outside->Holders(key) == 1; }, 1s);
  }

  Outside* outside;
  std::string key;
  bool* has_begun;
};

struct ProbingHandler {
  using cancellation_slot_type = ProbingSlot;
  [[nodiscard]] ProbingSlot get_cancellation_slot() const { return slot; }
  void operator()(const std::exception_ptr&, Hold hold) { done->set_value(std::move(hold)); }

  ProbingSlot slot;
  std::promise<Hold>* done;
};

TEST_F(FailureTest, CancellationSlotIsAssignedBeforeTheOperationBegins) {
  client.lock(key).release();  // connects
  bool has_begun = false;
  std::promise<Hold> done;
  client.lock(key, {}, ProbingHandler{{&outside, key, &has_begun}, &done});
  const auto hold = done.get_future().get();
  EXPECT_FALSE(has_begun);
}

TEST_F(FailureTest, ExceptionOfACallbackIsIgnored) {
  std::atomic<int> losses = 0;
  const LockOptions options{.lease = 100ms, .renew = false, .on_lost = [&](const std::string&) {
                              ++losses;
                              throw std::runtime_error("from the application");
                            }};
  const auto lost = client.lock(key, options);
  const auto other = client.lock(key + "2", {.lease = 300ms});
  EXPECT_TRUE(Becomes([&] { return losses == 1; }));
  std::this_thread::sleep_for(600ms);
  EXPECT_NO_THROW(other.check());
}

}  // namespace
