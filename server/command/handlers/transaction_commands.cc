// MULTI and EXEC: several requests as one step, if no watched key has changed.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/command/handlers/command_costs.h"
#include "server/command/handlers/command_families.h"
#include "server/command/handlers/redis_arguments.h"
#include "server/command/handlers/value_access.h"
#include "server/command/server_parts.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;

// Returns the client's transaction; begins one if there is none.
Transaction& TransactionOf(Client& client) {
  if (client.transaction == nullptr) client.transaction = std::make_unique<Transaction>();
  return *client.transaction;
}

void Multi(Invocation& call) {
  if (Transactions::IsCollecting(call.client)) {
    return call.reply.Error(ErrorCode::kErr, "MULTI calls can not be nested");
  }
  TransactionOf(call.client).Open();
  call.reply.Ok();
}

void Discard(Invocation& call) {
  if (!Transactions::IsCollecting(call.client))
    return call.reply.Error(ErrorCode::kErr, "DISCARD without MULTI");
  call.server.transactions.Drop(call.client);
  call.reply.Ok();
}

bool HasAnyChanged(Invocation& call, Transaction& transaction) {
  WatchedKeys& watched_keys = call.server.watched_keys;
  return std::ranges::any_of(transaction.watches(), [&](const Watch& watch) {
    // A value that is overdue expires now, which is a change.
    call.server.values.Find({watch.db, watch.key, watch.key_hash}, call.now);
    return watched_keys.HasChanged(watch, call.now);
  });
}

// Whether a bound on locks or values may refuse a request that adds to them; if so, sends the
// error. What follows a request that may free something is not looked at, because there may be room
// then.
bool RefusesForBounds(Invocation& call, const Transaction& transaction,
                      protocol::ReplyWriter& reply) {
  std::uint8_t db = call.client.profile.database;
  bool is_refused = false;
  transaction.Visit([&](std::size_t row, const protocol::Arguments& arguments) {
    const CommandSpec& spec = *call.server.table.rows()[row];
    if ((spec.flags & kTakesLock) != 0) {
      is_refused = RefusesFull(call, spec, arguments, db, reply);
    }
    const auto next_db = spec.name == "SELECT" ? ParseInteger(arguments[1]) : std::nullopt;
    if (next_db && *next_db >= 0 && *next_db < engine::kDatabases) {
      db = static_cast<std::uint8_t>(*next_db);
    }
    const bool may_free = (spec.flags & kWrite) != 0 && (spec.flags & kTakesLock) == 0;
    return !is_refused && !may_free;
  });
  return is_refused;
}

// Returns the text of the error with which the server would refuse one of the requests in its
// present state, or all of them together because of their cost; empty if it would refuse none. In
// the latter case all are executed, even if memory becomes short in between: the limits on the size
// of a transaction and of its replies also bound the memory that it may take.
std::string WhyNotNow(Invocation& call, const Transaction& transaction, const Cost& cost) {
  std::string line;
  protocol::ReplyWriter writer(line, protocol::RespVersion::kResp2);
  if (!call.server.availability.RefusesQueued(transaction.flags(), writer) &&
      !RefusesForBounds(call, transaction, writer) && !RefusesCost(call.server, cost, writer)) {
    return {};
  }
  constexpr std::size_t kSignAndEnd = 3;
  return line.substr(1, line.size() - kSignAndEnd);
}

// Whether a request is refused because the replies before it were longer than estimated. This
// happens only if earlier requests of the transaction have moved what it would show.
bool RefusesMore(const Invocation& call, std::size_t row, std::uint64_t written_max,
                 protocol::ReplyWriter& reply) {
  if (call.client.output.written() <= written_max) return false;
  if (IsSmall(*call.server.table.rows()[row])) return false;
  RefusesCost(call.server, {.reply_bytes = ~std::uint64_t{0}}, reply);
  return true;
}

void ExecuteAll(Invocation& call, const Transaction& transaction, const Cost& cost) {
  const std::uint64_t written_max =
      call.client.output.written() + call.server.transactions.LimitsNow().reply_bytes_max;
  call.reply.ArrayHeader(transaction.size());
  call.server.availability.BeginStep(call.now);
  // Everything has been checked, except what scripts will ask for.
  if ((transaction.flags() & kRunsScripts) == 0) call.server.availability.NoteChange();
  call.server.delivery.BeginStep(call.now);
  call.server.work.BeginTransaction();
  call.server.scripts.BeginTransaction();
  transaction.Visit([&](std::size_t row, const protocol::Arguments& arguments) {
    Invocation each{call.server,          call.client, arguments,
                    call.client.writer(), call.now,    {.db = call.client.profile.database}};
    if (call.server.admission.MayStill(call.client, row, arguments, each.reply) &&
        !RefusesMore(call, row, written_max, each.reply)) {
      call.server.executor.RunInStep(row, each, Origin::kClient);
    } else {
      call.server.executor.NoteRejected(row, call.client, arguments, each.reply, Origin::kClient,
                                        call.now);
    }
    return true;
  });
  call.server.work.EndTransaction();
  call.server.availability.EndStep();
  call.server.delivery.EndStep(call.now);
  call.server.work.Charge(cost.work);
}

Cost CostOfAll(Invocation& call, const Transaction& transaction) {
  call.server.availability.LookAtMemory(call.now);
  return CostOf(call.server.table,
                {call.server, call.client, call.arguments, call.client.profile.database, call.now},
                transaction);
}

void Exec(Invocation& call) {
  if (!Transactions::IsCollecting(call.client))
    return call.reply.Error(ErrorCode::kErr, "EXEC without MULTI");
  Transaction& transaction = *call.client.transaction;
  const Cost cost = CostOfAll(call, transaction);
  if (transaction.is_spoiled()) {
    call.reply.Error(ErrorCode::kExecAbort, "Transaction discarded because of previous errors.");
  } else if (transaction.slots().differ()) {
    KeyRouting::RefuseSlots(call.reply);
  } else if (const std::string why = WhyNotNow(call, transaction, cost); !why.empty()) {
    call.reply.Error(ErrorCode::kExecAbort, "Transaction discarded because of: " + why);
  } else if (HasAnyChanged(call, transaction)) {
    call.client.output.NoteFlags(kReadOnly);
    call.reply.NullArray();
  } else {
    ExecuteAll(call, transaction, cost);
  }
  call.server.transactions.Drop(call.client);
}

// Returns false after sending an error.
bool WatchKey(Invocation& call, const engine::KeyName& key) {
  auto& watches = TransactionOf(call.client).watches();
  const bool is_watched = std::ranges::any_of(
      watches, [&](const Watch& watch) { return watch.db == key.db && watch.key == key.bytes; });
  if (is_watched) return true;
  const std::size_t watches_max = call.server.transactions.LimitsNow().watched_keys_max;
  if (watches.size() >= watches_max && call.server.availability.memory().is_short()) {
    call.server.availability.RefuseForMemory(call.reply);
    return false;
  }
  if (watches.size() >= watches_max) {
    call.reply.Error(ErrorCode::kFull, "this connection watches " + std::to_string(watches.size()) +
                                           " keys; the limit is " + std::to_string(watches_max) +
                                           " (max_watched_keys)");
    return false;
  }
  call.server.values.Find(key, call.now);  // an overdue value expires before the watch begins
  watches.push_back(call.server.watched_keys.Begin(key, call.now));
  return true;
}

void WatchKeys(Invocation& call) {
  if (Transactions::IsCollecting(call.client)) {
    return call.reply.Error(ErrorCode::kErr, "WATCH inside MULTI is not allowed");
  }
  const auto names = call.arguments.views().subspan(1);
  const auto is_key = [&](std::string_view name) { return IsKeyOrRefuse(call, name); };
  if (!std::ranges::all_of(names, is_key)) return;
  for (const std::string_view name : names) {
    if (!WatchKey(call, {call.client.profile.database, name})) return;
  }
  call.reply.Ok();
}

void Unwatch(Invocation& call) {
  call.server.transactions.EndWatches(call.client);
  call.reply.Ok();
}

constexpr std::uint32_t kAtOnce = kFast | kNotQueued | kNoScript;

constexpr auto kTransactionCommands = std::to_array<CommandSpec>({
    {"MULTI",
     Multi,
     1,
     kAtOnce,
     {},
     "transactions",
     "",
     "Starts a transaction: requests are queued, each answered with QUEUED, until EXEC",
     "O(1)"},
    {"EXEC",
     Exec,
     1,
     kNotQueued | kNoScript | kRunsScripts,
     {},
     "transactions",
     "",
     "Executes the queued requests as one step, and returns all replies; nil if a watched key has "
     "changed. No request waits inside the transaction; locks freed by it go to their waiters when "
     "it ends",
     "That of the queued requests"},
    {"DISCARD",
     Discard,
     1,
     kAtOnce,
     {},
     "transactions",
     "",
     "Discards the queued requests and stops watching all keys",
     "O(requests)"},
    {"WATCH", WatchKeys, -2, kAtOnce | kOnlyWhenReady, With(kEveryKey, KeyEffect::kTest),
     "transactions", "key [key ...]",
     "The next EXEC does nothing if the holders, tokens or lease ends of these keys change before "
     "it; owners joining or leaving their queues do not count as changes",
     "O(keys), with LIMIT O(holders)"},
    {"UNWATCH",
     Unwatch,
     1,
     kFast | kNoScript,
     {},
     "transactions",
     "",
     "Stops watching all keys",
     "O(keys watched)"},
});

}  // namespace

std::span<const CommandSpec> TransactionCommands() { return kTransactionCommands; }

}  // namespace fairlock::command
