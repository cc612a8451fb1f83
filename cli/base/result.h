// The value that an operation returns, or the reason why it failed.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "cli/base/exit_codes.h"

namespace fairlock::cli {

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
