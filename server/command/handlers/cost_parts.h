// What the estimates of commands' costs have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "server/command/handlers/command_costs.h"
#include "server/command/table/text.h"

namespace fairlock::command {

// The commands that are not small, by what they show: locks and keys, and small values.
std::span<const CostRow> LockCosts();
std::span<const CostRow> ValueCosts();

// What a small command may cost.
inline constexpr std::uint64_t kSmallReply = 128;
inline constexpr std::uint64_t kSmallWork = 600;
inline constexpr std::uint64_t kArgumentWork = 120;
// The frame of each string of a reply, and the work of writing it.
inline constexpr std::uint64_t kFrame = 12;
inline constexpr std::uint64_t kWriteWork = 100;
// A hold, a place or an event, without the names in it.
inline constexpr std::uint64_t kRowBytes = 600;
inline constexpr std::uint64_t kRowWork = 1500;
// An element of a small value is moved, copied or written.
inline constexpr std::uint64_t kElementWork = 200;

// A number with a fraction that is written as text.
inline constexpr std::uint64_t kFloatBytes = 5 * 1024;
inline constexpr std::uint64_t kFloatWork = 20'000;

inline constexpr std::uint64_t kNamesBytes = engine::kKeyBytesMax + engine::kOwnerBytesMax;

inline Cost Small(const CostQuestion& asked) {
  return {kSmallReply, kSmallWork + kArgumentWork * asked.arguments.size()};
}

inline Cost Plus(const CostQuestion& asked, const Cost& more) {
  Cost cost = Small(asked);
  cost += more;
  return cost;
}

inline engine::KeyName KeyAt(const CostQuestion& asked, std::size_t position) {
  return {asked.db, asked.arguments[position]};
}

inline std::uint64_t BytesFrom(const CostQuestion& asked, std::size_t first) {
  std::uint64_t bytes = 0;
  for (std::size_t i = first; i < asked.arguments.size(); ++i) {
    bytes += asked.arguments[i].size() + kFrame;
  }
  return bytes;
}

// The number after that word; `otherwise` if there is none.
inline std::uint64_t NumberAfter(const CostQuestion& asked, std::string_view word,
                                 std::uint64_t otherwise) {
  for (std::size_t i = 1; i + 1 < asked.arguments.size(); ++i) {
    if (!EqualsIgnoreCase(asked.arguments[i], word)) continue;
    const auto number = ParseInteger(asked.arguments[i + 1]);
    return number && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
  }
  return otherwise;
}

inline bool HasWord(const CostQuestion& asked, std::string_view word) {
  return std::ranges::any_of(asked.arguments.views().subspan(1), [&](std::string_view argument) {
    return EqualsIgnoreCase(argument, word);
  });
}

template <std::uint64_t reply_bytes, std::uint64_t work>
Cost Fixed(const CostQuestion& asked) {
  return Plus(asked, {reply_bytes, work});
}

// The command repeats its arguments.
inline Cost Echo(const CostQuestion& asked) {
  return Plus(asked, {BytesFrom(asked, 1), kWriteWork * asked.arguments.size()});
}

}  // namespace fairlock::command
