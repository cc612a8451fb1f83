// Fair locks with fencing tokens, from a fairlock server.
//
//   fairlock::client::Client client({.addresses = {"localhost:3247"}});
//   auto hold = client.lock("order:42", {.lease = 30s, .wait = 10s});
//   charge(42, hold.token());
//
// Each function that asks the server has a blocking form, and one that takes a completion token.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "fairlock/client/completion.h"
#include "fairlock/client/errors.h"

namespace fairlock::client {

class Core;
class HoldState;

struct Settings {
  // HOST:PORT, or /PATH of a Unix socket. If one cannot be reached or does not serve, the next one
  // is tried.
  std::vector<std::string> addresses = {"127.0.0.1:3247"};
  // The addresses are those of some nodes of a fleet of several partitions. They name the other
  // nodes, and each request is sent to the leader of its key.
  bool cluster = false;
  // HOST:PORT of Sentinels. If there are any, they name the server, and `addresses` is not used.
  std::vector<std::string> sentinels{};
  std::string service =
      "main";  // the name that the Sentinels know, which is the fleet's cluster_name
  std::string sentinel_user = "default";
  std::string sentinel_password{};  // if empty, does not log in to Sentinels
  std::string user = "default";
  std::string password{};
  bool tls = false;
  std::string ca_file{};           // PEM; empty means the authorities of the system
  std::string certificate_file{};  // PEM, if the server requires one of its clients
  std::string key_file{};
  // A server that does not reply within this time is given up. Also the limit for connecting to an
  // address, including the lookup of its name.
  Duration reply_timeout = std::chrono::seconds(5);
};

struct LockOptions {
  Duration lease = std::chrono::seconds(30);
  std::optional<Duration> wait{};  // none means without end; 0 means not at all
  bool renew = true;               // each time a third of the lease is left
  std::string owner{};             // if empty, made from host, process and a random part
  bool shared = false;             // any number of owners, but no exclusive one
  std::optional<int> limit{};      // how many owners may hold the key at once
  std::optional<Duration> keep{};  // how long the place of an owner that does not ask is kept
  std::optional<Duration> min_hold{};
  std::optional<int> max_waiters{};
  std::string meta{};
  std::string label{};
  // Called once, in the client's thread, with the reason. Must not block or destroy the client;
  // an exception is ignored.
  std::function<void(const std::string&)> on_lost{};
};

// One key, or several that are taken together or not at all.
class Keys {
 public:
  Keys(const char* key) : names_{key} {}             // NOLINT(google-explicit-constructor)
  Keys(std::string key) : names_{std::move(key)} {}  // NOLINT(google-explicit-constructor)
  Keys(std::vector<std::string> keys)
      : names_(std::move(keys)) {}  // NOLINT(google-explicit-constructor)
  Keys(std::initializer_list<std::string> keys) : names_(keys) {}

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

// A lock that is held. Its destructor releases it in the background, as long as the client exists;
// so does the assignment of another one, as with std::unique_lock.
//
// Thread-safe, except for moves. In a child process that was forked meanwhile, nothing is held.
class Hold {
 public:
  Hold();  // holds nothing
  explicit Hold(std::shared_ptr<HoldState> state);
  Hold(Hold&& other) noexcept;
  Hold& operator=(Hold&& other) noexcept;
  ~Hold();

  // Both are empty if the object holds nothing: it was made without a lock, or moved from.
  [[nodiscard]] const std::vector<std::string>& keys() const;
  [[nodiscard]] const std::string& owner() const;

  // The fencing token, to be sent with every write. Throws LostHold like check().
  [[nodiscard]] std::int64_t token() const;

  // Throws LostHold if the lock is lost, or if its lease may have ended. Sends nothing.
  void check() const;

  // The lease lasts at least for this time, unless it is renewed.
  [[nodiscard]] Duration remaining() const;

  // Renews the lease now; with `lease`, this is its length from now on. A renewal never makes a
  // lease end earlier than before.
  void renew(std::optional<Duration> lease = {});

  // Returns whether the lock was held until now.
  bool release();

  // Hands the lock to another owner, and returns its token. From the request on, this hold is not
  // held any more, unless the server refuses the transfer.
  std::int64_t transfer(const std::string& new_owner);

  // These cannot be cancelled. A renewal ends after reply_timeout at the latest; a release or a
  // transfer is repeated for 5 s while the server cannot be reached.
  template <typename Token>
  auto renew(std::optional<Duration> lease, Token&& token) {
    return detail::Initiate<bool>(std::forward<Token>(token), [state = state_, lease](auto done) {
      StartRenew(state, lease, std::move(done));
    });
  }

  template <typename Token>
  auto release(Token&& token) {
    return detail::Initiate<bool>(std::forward<Token>(token), [state = state_](auto done) {
      StartRelease(state, std::move(done));
    });
  }

  template <typename Token>
  auto transfer(std::string new_owner, Token&& token) {
    return detail::Initiate<std::int64_t>(std::forward<Token>(token),
                                          [state = state_, new_owner](auto done) {
                                            StartTransfer(state, new_owner, std::move(done));
                                          });
  }

 private:
  using State = std::shared_ptr<HoldState>;

  static void StartRenew(const State& state, std::optional<Duration> lease, Done<bool> done);
  static void StartRelease(const State& state, Done<bool> done);
  static void StartTransfer(const State& state, std::string new_owner, Done<std::int64_t> done);

  State state_;
};

// One connection, over which any number of locks wait; with `cluster`, one to each leader that it
// needs. It has a thread of its own, which renews
// leases whatever the program's threads do.
//
// Thread-safe. Its destructor cancels what waits, and finishes releases that have begun.
class Client {
 public:
  explicit Client(Settings settings = {});
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  // Takes the lock, or throws Denied.
  Hold lock(Keys keys, LockOptions options = {});

  // Takes the lock if that is possible without waiting.
  std::optional<Hold> try_lock(Keys keys, LockOptions options = {});

  template <typename Token>
  auto lock(Keys keys, LockOptions options, Token&& token) {
    return detail::InitiateCancellable<Hold>(
        std::forward<Token>(token),
        [core = core_, keys, options](std::stop_token stop, Done<Hold> done) {
          StartLock(*core, keys, options, std::move(stop), std::move(done));
        });
  }

  template <typename Token>
  auto try_lock(Keys keys, LockOptions options, Token&& token) {
    return detail::InitiateCancellable<std::optional<Hold>>(
        std::forward<Token>(token),
        [core = core_, keys, options](std::stop_token stop, Done<std::optional<Hold>> done) {
          StartTryLock(*core, keys, options, std::move(stop), std::move(done));
        });
  }

 private:
  static void StartLock(Core& core, Keys keys, LockOptions options, std::stop_token stop,
                        Done<Hold> done);
  static void StartTryLock(Core& core, Keys keys, LockOptions options, std::stop_token stop,
                           Done<std::optional<Hold>> done);

  std::shared_ptr<Core> core_;
};

}  // namespace fairlock::client
