// The outcome of a storage operation, and its value if it succeeded.
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
  kFailed,   // caused by the environment: disk full, no permission, a failed write or sync
  kDeposed,  // another process has taken over the log; nothing was written
  kDamaged,  // stored bytes differ from those that were written; the message names the record
  kNewer,    // the bytes are intact, but a newer version of fairlock wrote them
  kRefused   // nothing failed, but the operation is not allowed: for example, the folder is in use
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
  // What is stored cannot be read, and reading it again would not help.
  bool is_unreadable() const {
    return code_ == StatusCode::kDamaged || code_ == StatusCode::kNewer;
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status Failed(std::string message) { return {StatusCode::kFailed, std::move(message)}; }
inline Status Damaged(std::string message) { return {StatusCode::kDamaged, std::move(message)}; }
// `what` names the data that this version cannot read.
inline Status Newer(const std::string& what) {
  return {StatusCode::kNewer, what + "; it was written by a newer version of fairlock"};
}
inline Status Refused(std::string message) { return {StatusCode::kRefused, std::move(message)}; }

// A value, or the reason why there is none.
template <typename Value>
class [[nodiscard]] Result {
 public:
  Result(Value value) : value_(std::move(value)) {}  // NOLINT: converts implicitly
  Result(Status status) : status_(std::move(status)) { assert(!status_.ok()); }  // NOLINT: likewise

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
