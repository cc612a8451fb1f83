// What each command may cost, known before it is executed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "protocol/arguments.h"
#include "server/command/client/client.h"
#include "server/command/client/transaction.h"
#include "server/command/table/command_table.h"
#include "server/command/table/invocation.h"
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

}  // namespace fairlock::command
