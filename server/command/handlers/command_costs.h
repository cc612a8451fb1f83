// What each command may cost, known before it is executed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "protocol/arguments.h"
#include "server/command/client/client.h"
#include "server/command/client/transaction.h"
#include "server/command/table/command_table.h"
#include "server/command/table/invocation.h"
#include "server/command/table/text.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

// Estimates are at most kUnderestimate times too small, except for the replies of scripts. A reply
// that is an error has up to 1 KB, and is not estimated.
struct Cost {
  static constexpr std::uint64_t kUnderestimate = 4;

  std::uint64_t reply_bytes = 0;
  std::uint64_t work = 0;  // in the unit of WorkMeter

  Cost& operator+=(const Cost& other) {
    reply_bytes += other.reply_bytes;
    work += other.work;
    return *this;
  }
};

// What the earlier requests of a transaction may have added to the state that a request shows.
struct Earlier {
  std::uint64_t requests = 0;
  std::uint64_t arguments = 0;
  std::uint64_t bytes = 0;    // of the arguments
  std::uint64_t longest = 0;  // argument

  void Add(const protocol::Arguments& request);
};

struct CostQuestion {
  ServerParts& server;
  const Client& client;
  const protocol::Arguments& arguments;
  std::uint8_t db;
  engine::TimeMs now;
  Earlier earlier = {};
};

struct CostRow {
  std::string_view command;  // as in the command table
  Cost (*estimate)(const CostQuestion&);
};
// The commands that are not small: a small one has a short reply, and its work depends only on the
// number of its arguments.
std::vector<CostRow> CostRows();
bool IsSmall(const CommandSpec& spec);
Cost CostOf(const CommandSpec& spec, const CostQuestion& question);
Cost CostOf(const CommandTable& table, const CostQuestion& question, const Transaction& queued);

// The most work of one step. Other clients wait meanwhile, for about 25 ms.
inline constexpr std::uint64_t kStepWorkMax = 25'000'000;
// While memory is short, no longer replies are made than this.
inline constexpr std::uint64_t kReplyBytesWhenShort = 64 * 1024;

// If the replies would be too long, or the work too much, sends an error and returns true.
bool RefusesCost(ServerParts& server, const Cost& cost, protocol::ReplyWriter& reply);
// The same for a handler, of the request that it is about to execute; otherwise the client is
// charged for the work.
bool RefusesCost(Invocation& call);

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
