// How the library finds its server: addresses, lookups, Unix sockets, TLS and users.

#include <dlfcn.h>
#include <fairlock/client.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <future>
#include <string>
#include <thread>

#include "test_support.h"

namespace {

constexpr auto kSlowHost = "slow.test";
std::atomic<int> slow_lookups = 0;

}  // namespace

// The library is linked with this function instead of the system's, in which the name servers for
// one host take 3 seconds to reply.
extern "C" int getaddrinfo(const char* host, const char* port, const addrinfo* hints,
                           addrinfo** found) {
  static const auto real =
      reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  const bool is_slow = host != nullptr && std::string(host) == kSlowHost;
  if (is_slow && (hints->ai_flags & AI_NUMERICHOST) == 0) {
    ++slow_lookups;
    std::this_thread::sleep_for(std::chrono::seconds(3));
    host = "127.0.0.1";
  }
  return real(host, port, hints, found);
}

namespace {

using namespace fairlock::client;
namespace asio = boost::asio;
using AddressTest = ClientTest;
using Clock = std::chrono::steady_clock;

std::string Port() { return Environment("FAIRLOCK_PORT"); }

// Accepts connections, but never replies.
class SilentServer {
 public:
  [[nodiscard]] std::string address() const {
    return "127.0.0.1:" + std::to_string(listener_.local_endpoint().port());
  }

 private:
  asio::io_context io_;
  asio::ip::tcp::acceptor listener_{io_, {asio::ip::make_address("127.0.0.1"), 0}};
};

// Returns what the constructor of a client says about the settings.
std::string Complaint(const Settings& settings) {
  try {
    const Client client(settings);
  } catch (const Refused& refused) {
    return refused.what();
  }
  return "";
}

TEST_F(AddressTest, NextAddressIsTried) {
  Client other({.addresses = {"127.0.0.1:1", Address()}});
  EXPECT_GT(other.lock(key, {.wait = 5s}).token(), 0);
}

TEST_F(AddressTest, UnreachableServerEndsTheWait) {
  Client other({.addresses = {"127.0.0.1:1"}});
  EXPECT_THROW(other.lock(key, {.wait = 100ms}), ConnectionFailed);
  EXPECT_THROW(other.try_lock(key), ConnectionFailed);
}

TEST_F(AddressTest, WrongPasswordIsRefused) {
  Client other({.addresses = {Address()}, .user = "nobody", .password = "wrong"});
  EXPECT_THROW(other.lock(key), Refused);
}

TEST_F(AddressTest, RedisIsNotFairlock) {
  Client other({.addresses = {"127.0.0.1:" + Environment("REDIS_PORT")}});
  EXPECT_THROW(other.lock(key), NotFairlock);
}

TEST_F(AddressTest, TlsVerifiesTheServer) {
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

TEST_F(AddressTest, EachAddressIsTriedInOneAttempt) {
  Client other({.addresses = {"127.0.0.1:1", Address()}});
  EXPECT_TRUE(other.try_lock(key).has_value());
}

TEST_F(AddressTest, PortAndHostAreOptional) {
  Client other({.addresses = {"localhost:" + Port()}});
  EXPECT_TRUE(other.try_lock(key).has_value());
  EXPECT_NE(Complaint({.addresses = {":3247"}}).find(":3247"), std::string::npos);
  EXPECT_NE(Complaint({.addresses = {}}), "");
}

TEST_F(AddressTest, UnixSocket) {
  Client other({.addresses = {Environment("FAIRLOCK_SOCKET")}});
  auto hold = other.lock(key);
  EXPECT_EQ(outside.Holders(key), 1);
  EXPECT_TRUE(hold.release());
  Client lost({.addresses = {"/nowhere/socket"}});
  EXPECT_THROW(lost.try_lock(key), ConnectionFailed);
}

TEST_F(AddressTest, LookupTakesNoLongerThanTheTimeoutAndIsNotRepeatedMeanwhile) {
  slow_lookups = 0;
  auto begin = Clock::now();
  {
    Client other({.addresses = {std::string(kSlowHost) + ":1"}, .reply_timeout = 100ms});
    EXPECT_THROW(other.lock(key, {.wait = 500ms}), ConnectionFailed);
  }
  EXPECT_LT(Clock::now() - begin, 2s);
  EXPECT_EQ(slow_lookups, 1);
  begin = Clock::now();
  Client other({.addresses = {std::string(kSlowHost) + ":1", Address()}, .reply_timeout = 100ms});
  EXPECT_TRUE(other.try_lock(key).has_value());
  EXPECT_LT(Clock::now() - begin, 2s);
}

TEST_F(AddressTest, LookupMaySucceedAfterALaterAttempt) {
  Client other({.addresses = {std::string(kSlowHost) + ":" + Port()}, .reply_timeout = 1s});
  EXPECT_NO_THROW(other.lock(key, {.wait = 20s}).check());
}

TEST_F(AddressTest, ConnectingCanBeCancelled) {
  const SilentServer silent;
  Client other({.addresses = {silent.address()}});
  asio::cancellation_signal signal;
  auto wait = other.lock(key, {}, asio::bind_cancellation_slot(signal.slot(), asio::use_future));
  std::this_thread::sleep_for(100ms);
  const auto begin = Clock::now();
  signal.emit(asio::cancellation_type::terminal);
  EXPECT_THROW(wait.get(), boost::system::system_error);
  EXPECT_LT(Clock::now() - begin, 1s);
}

TEST_F(AddressTest, SilentServerIsGivenUpForTheNextOne) {
  const SilentServer silent;
  Client other({.addresses = {silent.address(), Address()}, .reply_timeout = 200ms});
  EXPECT_TRUE(other.try_lock(key).has_value());
}

TEST_F(AddressTest, NewerWaitOfAnOwnerEndsTheOlderOneBeforeEitherIsConnected) {
  const SilentServer silent;
  const auto other = client.lock(key);
  Client late({.addresses = {silent.address(), Address()}, .reply_timeout = 300ms});
  auto older = late.lock(key, {.wait = 20s, .owner = "me"}, asio::use_future);
  auto newer = late.lock(key, {.wait = 20s, .owner = "me"}, asio::use_future);
  ASSERT_EQ(older.wait_for(10s), std::future_status::ready);
  EXPECT_THROW(older.get(), WaitEnded);
  EXPECT_TRUE(Becomes([&] { return outside.Waiters(key) == 1; }));
}

TEST_F(AddressTest, FileThatCannotBeUsedIsNamed) {
  EXPECT_NE(Complaint({.tls = true, .ca_file = "/nowhere/ca.pem"}).find("ca_file /nowhere/ca.pem"),
            std::string::npos);
  EXPECT_NE(Complaint({.tls = true, .certificate_file = "/nowhere/c.pem"}).find("/nowhere/c.pem"),
            std::string::npos);
  EXPECT_NE(Complaint({.tls = true,
                       .certificate_file = Environment("FAIRLOCK_TLS_CERT"),
                       .key_file = Environment("FAIRLOCK_TLS_CA")})
                .find("key_file " + Environment("FAIRLOCK_TLS_CA")),
            std::string::npos);
}

}  // namespace
