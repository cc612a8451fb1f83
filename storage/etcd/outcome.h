// What became of a request to etcd, judged by the status and the text of its answer.
#pragma once

#include <cstdint>
#include <string_view>

namespace fairlock::storage::etcd {

enum class Outcome : std::uint8_t {
  kDone,
  kRefused,      // executed, but a comparison of the transaction did not hold
  kUnknown,      // a write that may or may not have been executed, or may be executed later
  kUnavailable,  // certainly not executed: no endpoint accepted the request
  kCompacted,    // not executed: the revision has been compacted
  kNoSpace,      // not executed: the database has reached its quota
  kNoLease,      // not executed: the lease does not exist or has expired
  kFailed        // not executed, and repeating it will not help: permission, login, size
};

// What the client does before it repeats or returns.
enum class NextStep : std::uint8_t {
  kNothing,
  kNextEndpoint,  // this endpoint is in trouble
  kAuthenticate   // the token is no longer valid, or there is none
};

struct Verdict {
  Outcome outcome = Outcome::kUnknown;
  NextStep next = NextStep::kNothing;

  bool operator==(const Verdict&) const = default;
};

// Judges an error. `code` is gRPC's status code, other than 0, and `text` its message. A
// combination that the table does not have is kUnknown.
Verdict JudgeError(int code, std::string_view text);

}  // namespace fairlock::storage::etcd
