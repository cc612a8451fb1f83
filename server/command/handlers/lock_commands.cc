// Commands that take, renew and release locks.

#include <array>
#include <cstdint>

#include "server/access/failed_log_ins.h"
#include "server/command/handlers/command_families.h"
#include "server/command/handlers/lock_answer.h"
#include "server/command/handlers/lock_options.h"
#include "server/command/handlers/replication.h"
#include "server/command/handlers/shared_replies.h"
#include "server/command/handlers/value_access.h"
#include "server/command/server_parts.h"
#include "server/command/table/argument_reader.h"
#include "server/command/table/command_docs.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;

void Lock(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  engine::LockRequest request{.key = arguments.Key(call.key), .owner = arguments.Owner("owner")};
  const bool is_explained = ReadLockOptions(call, arguments, request);
  if (!arguments.Finish(call.reply) || !CheckNotify(call, request.key.bytes, request)) return;
  if (RefusesValue(call, request.key)) return;
  const engine::LockResult result =
      call.server.locks.engine().Lock(request, call.client, call.server.locks.StepAt(call.now));
  AnswerLock(call, {{&request.key, 1}, request.owner, is_explained, request.notify.has_value()},
             result);
}

void Unlock(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  const engine::UnlockRequest request{.key = arguments.Key(call.key),
                                      .owner = arguments.Owner("owner"),
                                      .token = ReadTokenOption(arguments)};
  if (!arguments.Finish(call.reply)) return;
  const bool was_held =
      call.server.locks.engine().Unlock(request, call.server.locks.StepAt(call.now));
  call.reply.Integer(was_held ? 1 : 0);
}

void Renew(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  engine::RenewRequest request{.key = arguments.Key(call.key), .owner = arguments.Owner("owner")};
  ReadRenewOptions(arguments, request);
  if (!arguments.Finish(call.reply)) return;
  const bool is_renewed =
      call.server.locks.engine().Renew(request, call.server.locks.StepAt(call.now));
  call.reply.Integer(is_renewed ? 1 : 0);
}

void RefuseWait(Invocation& call, engine::WaitStatus status) {
  switch (status) {
    case engine::WaitStatus::kTooManyPlaces:
      return RefuseBound(call, engine::LockStatus::kTooManyPlaces);
    case engine::WaitStatus::kTooManyOnKey:
      return RefuseBound(call, engine::LockStatus::kTooManyOnKey);
    default:
      return RefuseBound(call, engine::LockStatus::kOutOfMemory);
  }
}

void Wait(Invocation& call) {
  if (IsWaitForReplicas(call.arguments.views())) {
    return call.reply.Integer(ReplicasWithAllChanges(call.server.environment.fleet));
  }
  ArgumentReader arguments(call.arguments);
  engine::WaitRequest request;
  request.key = arguments.Key(call.key);
  std::uint32_t seen = 0;
  while (arguments.has_more()) {
    if (arguments.TakeOnce("TIMEOUT", 1, seen)) {
      request.timeout_ms = arguments.DurationOrForever("TIMEOUT");
    } else {
      arguments.FailUnknownOption("TIMEOUT", "it takes TIMEOUT 30s, or TIMEOUT FOREVER");
    }
  }
  if (!arguments.Finish(call.reply) || RefusesValue(call, request.key)) return;
  const engine::WaitStatus status =
      call.server.locks.engine().Wait(request, call.client, call.server.locks.StepAt(call.now));
  switch (status) {
    case engine::WaitStatus::kFree:
      call.reply.Integer(1);
      break;
    case engine::WaitStatus::kTimedOut:
      call.reply.Integer(0);
      break;
    case engine::WaitStatus::kTooManyPlaces:
    case engine::WaitStatus::kTooManyOnKey:
    case engine::WaitStatus::kOutOfMemory:
      RefuseWait(call, status);
      break;
    case engine::WaitStatus::kWaiting:
      call.client.wait.Begin(WaitKind::kKeyFree, call.server.statistics.gauges);
      break;
  }
}

void Check(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  const engine::KeyName key = arguments.Key(call.key);
  const engine::Token token = arguments.Token("token");
  if (!arguments.Finish(call.reply)) return;
  const bool holds =
      call.server.locks.engine().inspection().Check(key, token, call.server.locks.StepAt(call.now));
  call.reply.Integer(holds ? 1 : 0);
}

// Whether the two are the same program of the same user, as far as the server can tell. It may well
// cancel on another connection than it waits on, and after a reconnection it always does.
bool IsSameProgram(const engine::ClientIdentity& one, const ClientProfile& other) {
  return one.user == other.user && one.name == other.name &&
         access::NetworkOf(one.address) == access::NetworkOf(other.address.peer);
}

void Cancel(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  const engine::KeyName key = arguments.Key(call.key);
  const std::string_view owner = arguments.Owner("owner");
  if (!arguments.Finish(call.reply)) return;
  engine::LockEngine& engine = call.server.locks.engine();
  const engine::Step step = call.server.locks.StepAt(call.now);
  const engine::ClientIdentity* asker = engine.inspection().ClientOfPlace(key, owner, step);
  call.is_own_affair = asker == nullptr || IsSameProgram(*asker, call.client.profile);
  const bool had_place = engine.Cancel(key, owner, step);
  call.reply.Integer(had_place ? 1 : 0);
}

void Transfer(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  engine::TransferRequest request;
  request.key = arguments.Key(call.key);
  request.owner = arguments.Owner("owner");
  request.new_owner = arguments.Owner("new-owner");
  ReadTransferOptions(arguments, request);
  if (!arguments.Finish(call.reply)) return;
  const engine::TransferResult result =
      call.server.locks.engine().Transfer(request, call.server.locks.StepAt(call.now));
  switch (result.status) {
    case engine::TransferStatus::kTransferred:
      call.reply.Integer(static_cast<std::int64_t>(result.token));
      break;
    case engine::TransferStatus::kNotHeld:
      call.reply.Null();
      break;
    case engine::TransferStatus::kNewOwnerHoldsAlready:
      call.reply.Error(ErrorCode::kErr, "new-owner: " + Quoted(request.new_owner) +
                                            " holds this key already; choose another owner");
      break;
  }
}

constexpr std::array<CommandSpec, 7> kLockCommands = {{
    {"LOCK", Lock, -3, kWrite | kBlocking | kFast | kTakesLock, kFirstKey, "lock",
     "key owner [EX seconds | PX milliseconds] [WAIT duration | WAIT FOREVER] [KEEP duration] "
     "[LIMIT n | SHARED] [SESSION [GRACE duration]] [MINHOLD duration] [NEW] "
     "[MAXWAITERS n [REPLACE]] [NOTIFY channel] [META blob] [LABEL name] [EXPLAIN]",
     "Takes a lock, or waits in its queue (WAIT 30s); replies with the fencing token, or nil",
     "O(1)"},
    {"UNLOCK", Unlock, -3, kWrite | kFast, kFirstKey, "lock", "key owner [TOKEN token]",
     "Releases the owner's hold and hands the lock to the next in the queue; 1 if the owner held "
     "it",
     "O(1)"},
    {"RENEW", Renew, -3, kWrite | kFast, kFirstKey, "lock",
     "key owner [EX seconds | PX milliseconds] [TOKEN token] [GT]",
     "Renews the lease, which then lasts for the given time from now, or with GT at least for that "
     "time; 0 if the owner does not hold the lock",
     "O(1)"},
    {"WAIT", Wait, -3, kReadOnly | kBlocking, kFirstKey, "lock",
     "key TIMEOUT duration | key TIMEOUT FOREVER",
     "Waits until every hold that existed at the time of the request has ended (TIMEOUT 30s); 1 "
     "once they have, 0 on timeout",
     "O(1)"},
    {"CHECK", Check, 3, kReadOnly | kFast, kFirstKey, "lock", "key token",
     "Whether this token holds the key now", "O(1), with LIMIT O(holders)"},
    {"CANCEL", Cancel, 3, kWrite | kFast | kAudited, kFirstKey, "lock", "key owner",
     "Gives up the owner's place in the queue; its waiting request is answered", "O(1)"},
    {"TRANSFER", Transfer, -4, kWrite | kFast | kGrows, kFirstKey, "lock",
     "key owner new-owner [EX seconds | PX milliseconds] [TOKEN token]",
     "Hands a held lock to another owner under a new token", "O(1)"},
}};

}  // namespace

std::span<const CommandSpec> LockCommands() { return kLockCommands; }

}  // namespace fairlock::command
