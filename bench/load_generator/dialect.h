// How a lock is acquired and released: with fairlock's commands, with Redis's own commands, or with
// Redis's commands and a script.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/reply_scanner.h"

namespace fairlock::bench {

// Requests and the replies that they must get. Each append function adds one request to `out`.
struct Dialect {
  std::string_view name;

  // Does not wait; the lock must be free.
  void (*append_lock)(std::string& out, std::string_view key, std::string_view owner,
                      std::uint64_t lease_ms);
  bool (*is_locked)(const protocol::SkippedReply& reply);
  void (*append_unlock)(std::string& out, std::string_view key, std::string_view owner);
  bool (*is_unlocked)(const protocol::SkippedReply& reply);

  // Used by many clients on one key. Redis cannot wait for a lock, so there the key is a list with
  // one token, which BLPOP takes and RPUSH puts back.
  void (*append_locked_wait)(std::string& out, std::string_view key, std::string_view owner);
  bool (*is_granted)(const protocol::SkippedReply& reply);
  void (*append_hand_on)(std::string& out, std::string_view key, std::string_view owner);
  bool (*is_handed_on)(const protocol::SkippedReply& reply);
  // Makes the lock available before the first client starts; empty if this is not needed.
  void (*append_setup)(std::string& out, std::string_view key);

  // Whether grants return increasing numbers and POSITION returns the place in the queue.
  bool has_tokens;
};

// Accepts "fairlock", "redis" or "script"; any other name is a failure.
const Dialect& DialectNamed(std::string_view name);

inline constexpr std::string_view kPing = "*1\r\n$4\r\nPING\r\n";

// "lock:" or "owner:" and digits, `bytes` long in total.
std::string KeyName(std::uint64_t number, std::size_t bytes);
std::string OwnerName(std::uint64_t number, std::size_t bytes);

}  // namespace fairlock::bench
