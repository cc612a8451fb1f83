// What a client waits for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/command/client/greeting.h"
#include "server/command/statistics/statistics.h"

namespace fairlock::command {

// Each wait ends with exactly one reply.
enum class WaitKind : std::uint8_t { kNothing, kLock, kKeyFree, kBackup, kLogIn };

// A LOCK with EXPLAIN, which is answered when its wait ends.
struct RequestToExplain {
  std::uint8_t db;
  std::string key;
  std::string owner;
  bool names_key;  // the map of the reply has the key too
};

// A log-in whose password is being compared.
struct PendingLogIn {
  std::string user;
  std::optional<Greeting> greeting;  // by HELLO; none: by AUTH
};

// While a request waits, no later request of the connection is executed. Loop-confined.
class ClientWait {
 public:
  bool is_waiting() const { return kind_ != WaitKind::kNothing; }
  WaitKind kind() const { return kind_; }

  // REQUIRES: it does not wait.
  void Begin(WaitKind kind, ServerGauges& gauges);
  // Without effect if it does not wait.
  void End(ServerGauges& gauges);

  // The reply to the LOCK that waits now will be the map of EXPLAIN.
  void ExplainLater(RequestToExplain request);
  std::unique_ptr<RequestToExplain> TakeExplained() { return std::move(explained_); }

  // If the wait ends by its time-out, the reply is an error that names CLIENT UNBLOCK.
  void FailAtTimeOut() { fails_at_time_out_ = true; }
  bool TakeFailsAtTimeOut() { return std::exchange(fails_at_time_out_, false); }

  // The user may no longer wait; the wait is about to end, with this error.
  void Deny(std::string denial);
  std::unique_ptr<std::string> TakeDenial() { return std::move(denial_); }

  // The password of the client is compared off the loop.
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
