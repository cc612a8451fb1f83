// All errors that the server can send.

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
  kCrossSlot,
  kClusterDown,
  kTryAgain,
  kNoQuorum,
  kNoScript,
  kNotBusy,
  kBusy,
  kWrongType,
  kExecAbort,
};

inline constexpr std::size_t kErrorCodes = static_cast<std::size_t>(ErrorCode::kExecAbort) + 1;

struct ErrorRow {
  ErrorCode code;
  std::string_view word;     // the start of the error line, without the '-'
  std::string_view meaning;  // for documentation
};

// One row per error code, in the order of the codes.
std::span<const ErrorRow> AllErrors();

// The fixed start of the error line: "ERR", "DEADLOCK", ... For kProtocol it is "ERR Protocol
// error:", whose first word is ERR as in Redis.
std::string_view Word(ErrorCode code);

// An error to send. The text follows the word and must stay valid until the reply is written; the
// parser's texts are static.
struct WireError {
  ErrorCode code = ErrorCode::kErr;
  std::string_view text = {};
};

}  // namespace fairlock::protocol
