// What a client is waiting for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "protocol/reply_writer.h"
#include "server/command/statistics/statistics.h"

namespace fairlock::command {

// The parameters of HELLO other than the log-in.
struct Greeting {
  std::optional<protocol::RespVersion> version;
  std::optional<std::string> name;
};

// Each wait ends with exactly one reply.
enum class WaitKind : std::uint8_t { kNothing, kLock, kKeyFree, kList, kFlush, kBackup, kLogIn };

// A LOCK with EXPLAIN, which is answered when its wait ends.
struct RequestToExplain {
  std::uint8_t db;
  std::string key;
  std::string owner;
  bool names_key;  // the reply's map includes the key
};

// A log-in whose password is being compared.
struct PendingLogIn {
  std::string user;
  std::optional<Greeting> greeting;  // set for HELLO; nullopt for AUTH
};

// While a request waits, no later request on the connection is executed. Loop-confined.
class ClientWait {
 public:
  bool is_waiting() const { return kind_ != WaitKind::kNothing; }
  WaitKind kind() const { return kind_; }

  // REQUIRES: the client is not waiting.
  void Begin(WaitKind kind, ServerGauges& gauges);
  // Does nothing if the client is not waiting.
  void End(ServerGauges& gauges);

  // When the LOCK that now waits is answered, the reply will be the map of EXPLAIN.
  void ExplainLater(RequestToExplain request);
  std::unique_ptr<RequestToExplain> TakeExplained() { return std::move(explained_); }

  // If the wait times out, the reply is the error with which CLIENT UNBLOCK ends a wait.
  void FailAtTimeOut() { fails_at_time_out_ = true; }
  bool TakeFailsAtTimeOut() { return std::exchange(fails_at_time_out_, false); }

  // Called when the user has lost permission to wait: the wait is about to end with this error.
  void Deny(std::string denial);
  std::unique_ptr<std::string> TakeDenial() { return std::move(denial_); }

  // Called when the client's password is being compared off the loop.
  void BeginLogIn(PendingLogIn log_in, ServerGauges& gauges);
  std::unique_ptr<PendingLogIn> TakeLogIn() { return std::move(log_in_); }

 private:
  WaitKind kind_ = WaitKind::kNothing;
  bool fails_at_time_out_ = false;
  std::unique_ptr<RequestToExplain> explained_;  // only while a LOCK with EXPLAIN waits
  std::unique_ptr<PendingLogIn> log_in_;         // only while a log-in waits
  std::unique_ptr<std::string> denial_;          // only while the wait is about to end
};

}  // namespace fairlock::command
