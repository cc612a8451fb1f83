// How an operation on what is stored ended, and the value it gave if it ended well.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace fairlock::storage {

enum class StatusCode : std::uint8_t {
  kOk,
  kFailed,   // the environment: disk full, no permission, a write or sync that failed
  kDeposed,  // another process has taken over the log; what was to be written is not
  kDamaged,  // what is stored is not what was written; the message names the record
  kRefused   // all is well, but this must not be done: in use, or not where it should be
};

// A message is one sentence for an operator, without a full stop.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {
    assert(code != StatusCode::kOk);
  }

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status Failed(std::string message) { return {StatusCode::kFailed, std::move(message)}; }
inline Status Damaged(std::string message) { return {StatusCode::kDamaged, std::move(message)}; }
inline Status Refused(std::string message) { return {StatusCode::kRefused, std::move(message)}; }

// A value, or why there is none.
template <typename Value>
class [[nodiscard]] Result {
 public:
  Result(Value value) : value_(std::move(value)) {}  // NOLINT: is a value
  Result(Status status) : status_(std::move(status)) { assert(!status_.ok()); }  // NOLINT: or not

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  Value& value() {
    assert(ok());
    return *value_;
  }
  const Value& value() const {
    assert(ok());
    return *value_;
  }
  Value* operator->() { return &value(); }
  const Value* operator->() const { return &value(); }

 private:
  std::optional<Value> value_;
  Status status_;
};

}  // namespace fairlock::storage
