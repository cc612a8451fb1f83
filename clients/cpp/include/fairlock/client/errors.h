// What the client throws, and why a lock was denied.
//
// A cancelled operation throws boost::system::system_error with asio::error::operation_aborted.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fairlock::client {

using Duration = std::chrono::milliseconds;

// One of the owners that hold a key.
struct Holder {
  std::string owner;
  std::int64_t token = 0;
  std::optional<std::string> meta;
  std::optional<std::string> label;
  Duration held_for{};
  std::optional<Duration> ttl;  // none if its lease has no end
  std::string mode;             // "exclusive", "shared" or "semaphore"
};

// Why a lock was granted or denied.
struct Explanation {
  std::string status;  // "granted", "already", "queued", "denied" or "timeout"
  std::string reason;  // "held", "shared", "line", "reserved", "cooling", "full", ...; or empty
  std::optional<std::int64_t> token;
  std::optional<Duration> ttl;
  std::optional<std::int64_t> position;  // the place in the queue; 1 is next
  std::int64_t waiters = 0;
  std::optional<Duration> eta;
  std::vector<Holder> holders;  // at most 16 of them
  std::string key;              // with several keys, the first that could not be obtained

  [[nodiscard]] std::string Text() const;
};

class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The lock was not granted: at once, or until the wait was over.
class Denied : public Error {
 public:
  explicit Denied(Explanation explanation)
      : Error(explanation.Text()), explanation_(std::move(explanation)) {}

  [[nodiscard]] const Explanation& explanation() const { return explanation_; }

 private:
  Explanation explanation_;
};

// The lock is not held any more, or this process can no longer be sure that it is.
class LostHold : public Error {
  using Error::Error;
};

// CANCEL, or a newer request of the same owner, ended the wait.
class WaitEnded : public Error {
  using Error::Error;
};

// The wait would never end; the text names the owners that wait for each other.
class Deadlock : public Error {
  using Error::Error;
};

// The server does not know the commands of fairlock. It may be a Redis server.
class NotFairlock : public Error {
  using Error::Error;
};

// No server could be reached, or none could serve the request at the moment.
class ConnectionFailed : public Error {
  using Error::Error;
};

// The server or the client's settings do not allow the request: permissions, limits, certificates.
class Refused : public Error {
  using Error::Error;
};

}  // namespace fairlock::client
