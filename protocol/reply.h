// A server's reply as a value.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fairlock::protocol {

enum class ReplyType : std::uint8_t {
  kNull,  // `_`, `$-1` and `*-1`
  kSimple,
  kError,  // `-` and `!`
  kInteger,
  kBulk,
  kDouble,
  kBoolean,
  kBigNumber,
  kVerbatim,
  kArray,
  kMap,
  kSet,
  kPush,
};

struct Reply {
  ReplyType type = ReplyType::kNull;
  std::array<char, 3> format{};  // kVerbatim: three letters, "txt" or "mkd"
  std::int64_t integer = 0;      // kInteger; for kBoolean, 1 or 0
  double number = 0;             // kDouble
  // Used by kSimple, kError (including its first word), kBulk, kVerbatim and kBigNumber (its
  // digits).
  std::string text = {};
  // Used by kArray, kSet, kPush, and kMap (as alternating keys and values).
  std::vector<Reply> elements = {};

  bool IsNull() const { return type == ReplyType::kNull; }
  bool IsError() const { return type == ReplyType::kError; }

  friend bool operator==(const Reply&, const Reply&) = default;
};

}  // namespace fairlock::protocol
