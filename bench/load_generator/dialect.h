// How a lock is taken and given back: in the language of fairlock, with Redis' own commands, and
// with them and a script.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/reply_scanner.h"

namespace fairlock::bench {

// A set of requests and the replies that they must get. Append functions add one request to `out`.
struct Dialect {
  std::string_view name;

  // Without waiting; the lock must be free.
  void (*append_lock)(std::string& out, std::string_view key, std::string_view owner,
                      std::uint64_t lease_ms);
  bool (*is_locked)(const protocol::SkippedReply& reply);
  void (*append_unlock)(std::string& out, std::string_view key, std::string_view owner);
  bool (*is_unlocked)(const protocol::SkippedReply& reply);

  // For many clients on one key. Redis knows no waiting for a lock: there the key is a list with
  // one token, which is taken by BLPOP and put back by RPUSH.
  void (*append_locked_wait)(std::string& out, std::string_view key, std::string_view owner);
  bool (*is_granted)(const protocol::SkippedReply& reply);
  void (*append_hand_on)(std::string& out, std::string_view key, std::string_view owner);
  bool (*is_handed_on)(const protocol::SkippedReply& reply);
  // What makes the lock free before the first client comes; empty: nothing.
  void (*append_setup)(std::string& out, std::string_view key);

  // A grant's reply is a number that rises from grant to grant, and POSITION tells a place in line.
  bool has_tokens;
};

// "fairlock", "redis" or "script"; fails for any other name.
const Dialect& DialectNamed(std::string_view name);

inline constexpr std::string_view kPing = "*1\r\n$4\r\nPING\r\n";

// "lock:" and digits, of that many bytes in all; "owner:" likewise.
std::string KeyName(std::uint64_t number, std::size_t bytes);
std::string OwnerName(std::uint64_t number, std::size_t bytes);

}  // namespace fairlock::bench
