// The outcome of a request to etcd, determined from the status and the message of its answer.
#pragma once

#include <cstdint>
#include <string_view>

namespace fairlock::storage::etcd {

enum class Outcome : std::uint8_t {
  kDone,
  kRefused,      // executed, but a comparison in the transaction was false
  kUnknown,      // a write that may or may not have been executed, or may be executed later
  kUnavailable,  // certainly not executed: no endpoint accepted the request, or the login
  kCompacted,    // not executed: the revision has been compacted
  kNoSpace,      // not executed: the database has reached its quota
  kNoLease,      // not executed: the lease does not exist or has expired
  kFailed        // not executed, and repeating it will not help: permission, size
};

// What the client does before it repeats the request or returns.
enum class NextStep : std::uint8_t {
  kNothing,
  kNextEndpoint,  // switch to the next endpoint, because this one has a problem
  kAuthenticate   // log in, because the token is no longer valid, or there is none
};

struct Verdict {
  Outcome outcome = Outcome::kUnknown;
  NextStep next = NextStep::kNothing;

  bool operator==(const Verdict&) const = default;
};

// Determines the outcome from an error. `code` is gRPC's status code, not 0, and `text` is its
// message. A combination that is not in the table is kUnknown.
Verdict JudgeError(int code, std::string_view text);

}  // namespace fairlock::storage::etcd
