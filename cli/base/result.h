// What an operation gives, or why it failed.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "cli/base/exit_codes.h"

namespace fairlock::cli {

// The text says what to try next, and has no line end. It may be shown on a terminal as it is.
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

  // Only when it has a value.
  Value& operator*() { return std::get<0>(content_); }
  const Value& operator*() const { return std::get<0>(content_); }
  Value* operator->() { return &std::get<0>(content_); }
  const Value* operator->() const { return &std::get<0>(content_); }

  // Only when it has none.
  const Failure& failure() const { return std::get<1>(content_); }

 private:
  std::variant<Value, Failure> content_;
};

}  // namespace fairlock::cli
