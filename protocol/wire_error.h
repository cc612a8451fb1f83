// The closed list of errors that the server can answer.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fairlock::protocol {

enum class ErrorCode : std::uint8_t {
  kErr,
  kProtocol,
  kNoAuth,
  kWrongPass,
  kNoPerm,
  kNoProto,
  kDeadlock,
  kSuperseded,
  kCancelled,
  kUnblocked,
  kFull,
  kOom,
  kStorage,
  kLoading,
  kMoved,
  kClusterDown,
  kTryAgain,
  kNoScript,
  kNotBusy,
  kBusy,
  kWrongType,
  kExecAbort,
};

inline constexpr std::size_t kErrorCodes = static_cast<std::size_t>(ErrorCode::kExecAbort) + 1;

struct ErrorRow {
  ErrorCode code;
  std::string_view word;     // what the error line begins with, without the '-'
  std::string_view meaning;  // for the documentation
};

// One row for each code, in the order of the codes.
std::span<const ErrorRow> AllErrors();

// The stable beginning of the error line: "ERR", "DEADLOCK", ...; for kProtocol
// "ERR Protocol error:", whose first word is ERR as in Redis.
std::string_view Word(ErrorCode code);

// An error as it is to be sent. The text comes after the word and must outlive the reply's writing;
// the parser's texts are static.
struct WireError {
  ErrorCode code = ErrorCode::kErr;
  std::string_view text = {};
};

}  // namespace fairlock::protocol
