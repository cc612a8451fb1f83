// The value that an operation returns, or the reason why it failed.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace fairlock::cli {

// Exit statuses of fairlockctl; docs/FAIRLOCKCTL.md documents them for users.
inline constexpr int kExitDone = 0;
inline constexpr int kExitNo = 1;              // the answer is no: not held, nothing found
inline constexpr int kExitWrongUse = 64;       // the command line, the environment or ctl.yaml
inline constexpr int kExitRefused = 65;        // the server answered with an error
inline constexpr int kExitUnreachable = 69;    // no connection, or no reply in time
inline constexpr int kExitNotUnderstood = 70;  // the peer does not speak RESP
inline constexpr int kExitNotWritten = 74;     // done, but standard output cannot be written
inline constexpr int kExitNotObtained = 75;    // the lock was denied, or a wait timed out
inline constexpr int kExitLost = 76;           // `run`: the lock was lost while the command ran
inline constexpr int kExitNotAllowed = 77;     // wrong password, or no permission
inline constexpr int kExitCannotRun =
    126;  // `run`: the command could not be run; the same code as in shells
inline constexpr int kExitNoCommand =
    127;  // `run`: there is no such command; the same code as in shells
inline constexpr int kExitSignal = 128;  // `run`: plus the number of the signal that ended it

// The text says what to try next, has no newline, and is safe to print on a terminal.
struct Failure {
  int exit_code = kExitRefused;
  std::string text;
};

template <typename Value>
class [[nodiscard]] Result {
 public:
  Result(Value value) : content_(std::move(value)) {}        // NOLINT(google-explicit-constructor)
  Result(Failure failure) : content_(std::move(failure)) {}  // NOLINT(google-explicit-constructor)

  bool has_value() const { return content_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // Requires has_value().
  Value& operator*() { return std::get<0>(content_); }
  const Value& operator*() const { return std::get<0>(content_); }
  Value* operator->() { return &std::get<0>(content_); }
  const Value* operator->() const { return &std::get<0>(content_); }

  // Requires !has_value().
  const Failure& failure() const { return std::get<1>(content_); }

 private:
  std::variant<Value, Failure> content_;
};

}  // namespace fairlock::cli
