// Taking, keeping and giving up locks.

#include <array>
#include <cstdint>

#include "server/command/argument_reader.h"
#include "server/command/command_table.h"
#include "server/command/dispatcher.h"
#include "server/command/lock_replies.h"
#include "server/command/text.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;

enum LockOption : std::uint32_t {
  kLease = 1U << 0,
  kWait = 1U << 1,
  kLimit = 1U << 2,
  kNew = 1U << 3,
  kMeta = 1U << 4,
  kLabel = 1U << 5,
  kExplain = 1U << 6,
  kToken = 1U << 7,
  kKeep = 1U << 8,
  kShared = 1U << 9,
  kSession = 1U << 10,
  kMinHold = 1U << 11,
  kMaxWaiters = 1U << 12,
};

bool TakeLease(ArgumentReader& arguments, std::uint32_t& seen,
               std::optional<engine::DurationMs>& lease_ms) {
  if (arguments.TakeOnce("PX", kLease, seen)) {
    lease_ms = arguments.LeaseMilliseconds();
    return true;
  }
  if (arguments.TakeOnce("EX", kLease, seen)) {
    lease_ms = arguments.LeaseSeconds();
    return true;
  }
  return false;
}

bool TakeToken(ArgumentReader& arguments, std::uint32_t& seen,
               std::optional<engine::Token>& token) {
  if (!arguments.TakeOnce("TOKEN", kToken, seen)) return false;
  token = arguments.Token("TOKEN");
  return true;
}

// The options that say how the request stands in line.
bool TakeLineOption(ArgumentReader& arguments, std::uint32_t& seen,
                    const engine::EngineOptions& options, engine::LockRequest& request) {
  if (arguments.TakeOnce("WAIT", kWait, seen)) {
    request.wait_ms = arguments.DurationOrForever("WAIT");
  } else if (arguments.TakeOnce("KEEP", kKeep, seen)) {
    request.keep_ms = arguments.DurationUpTo("KEEP", options.keep_ms_max, "max_keep");
  } else if (arguments.TakeOnce("MAXWAITERS", kMaxWaiters, seen)) {
    request.waiters_max =
        static_cast<std::uint32_t>(arguments.Integer("MAXWAITERS", 0, engine::kLimitMax));
    request.replaces_newest = arguments.Take("REPLACE");
  } else {
    return false;
  }
  return true;
}

// The options that say what kind of hold is asked for.
bool TakeHoldOption(ArgumentReader& arguments, std::uint32_t& seen, engine::LockRequest& request) {
  if (TakeLease(arguments, seen, request.lease_ms)) return true;
  if (arguments.TakeOnce("LIMIT", kLimit, seen)) {
    request.limit = static_cast<std::uint32_t>(arguments.Integer("LIMIT", 1, engine::kLimitMax));
  } else if (arguments.TakeOnce("SHARED", kShared, seen)) {
    request.is_shared = true;
  } else if (arguments.TakeOnce("SESSION", kSession, seen)) {
    request.session_grace_ms =
        arguments.Take("GRACE") ? arguments.DurationUpTo("GRACE", engine::kLeaseMsMax, "365 days")
                                : 0;
  } else if (arguments.TakeOnce("MINHOLD", kMinHold, seen)) {
    request.min_hold_ms = arguments.DurationUpTo("MINHOLD", engine::kLeaseMsMax, "365 days");
  } else if (arguments.TakeOnce("META", kMeta, seen)) {
    request.meta = arguments.Meta();
  } else if (arguments.TakeOnce("LABEL", kLabel, seen)) {
    request.label = arguments.Label();
  } else {
    return false;
  }
  return true;
}

// Reads the options of LOCK; what was seen tells of those that are flags.
std::uint32_t ReadLockOptions(ArgumentReader& arguments, const engine::EngineOptions& options,
                              engine::LockRequest& request) {
  std::uint32_t seen = 0;
  while (arguments.has_more()) {
    if (TakeHoldOption(arguments, seen, request)) continue;
    if (TakeLineOption(arguments, seen, options, request)) continue;
    if (arguments.TakeOnce("NEW", kNew, seen)) continue;
    if (arguments.TakeOnce("EXPLAIN", kExplain, seen)) continue;
    arguments.FailUnknownOption(
        "EX, PX, WAIT, KEEP, LIMIT, SHARED, SESSION, MINHOLD, NEW, MAXWAITERS, META, LABEL or "
        "EXPLAIN");
  }
  if ((seen & kShared) != 0 && (seen & kLimit) != 0) {
    arguments.Fail("syntax error: SHARED and LIMIT exclude each other");
  }
  request.only_new = (seen & kNew) != 0;
  return seen;
}

std::string_view StatusName(engine::LockStatus status) {
  switch (status) {
    case engine::LockStatus::kGranted:
      return "granted";
    case engine::LockStatus::kAlready:
      return "already";
    case engine::LockStatus::kQueued:
    case engine::LockStatus::kKept:
      return "queued";
    default:
      return "denied";
  }
}

void AnswerLock(Invocation& call, const engine::LockRequest& request,
                const engine::LockResult& result, bool is_explained) {
  switch (result.status) {
    case engine::LockStatus::kModeDiffers:
      call.reply.Error(ErrorCode::kErr,
                       "LIMIT or SHARED: the owner holds this key in a mode that does not cover "
                       "this one; the same, or UNLOCK before it, would be right");
      return;
    case engine::LockStatus::kTooManyLocks:
      RefuseTooMany(call.reply, "locks (max_locks)");
      return;
    case engine::LockStatus::kTooManyPlaces:
      RefuseTooMany(call.reply, "places in line (max_places)");
      return;
    case engine::LockStatus::kQueued:
      call.client.WaitFor(WaitKind::kLock);
      if (is_explained) call.client.ExplainLater(request.key, request.owner);
      return;
    default:
      break;
  }
  if (result.status == engine::LockStatus::kAlready) {
    call.dispatcher.MoveDelivery(result.key_hash, result.token, call.client);
  }
  if (is_explained) {
    WriteExplanation(call.reply, call.dispatcher, request.key, request.owner,
                     {StatusName(result.status), result.reason, result.token}, call.now);
  } else if (result.token != 0) {
    call.reply.Integer(static_cast<std::int64_t>(result.token));
  } else {
    call.reply.Null();
  }
  if (result.status == engine::LockStatus::kGranted) {
    call.client.NoteGrant(result.key_hash, result.token);
  }
}

void Lock(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  engine::LockRequest request;
  request.key = arguments.Key(call.client.database(), call.key_hash);
  request.owner = arguments.Owner("owner");
  const std::uint32_t seen =
      ReadLockOptions(arguments, call.dispatcher.engine().options(), request);
  if (!arguments.Finish(call.reply)) return;
  const engine::LockResult result =
      call.dispatcher.engine().Lock(request, call.client, call.now, call.dispatcher.effects());
  AnswerLock(call, request, result, (seen & kExplain) != 0);
}

void Unlock(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  engine::UnlockRequest request;
  request.key = arguments.Key(call.client.database(), call.key_hash);
  request.owner = arguments.Owner("owner");
  std::uint32_t seen = 0;
  if (arguments.has_more()) TakeToken(arguments, seen, request.token);
  if (!arguments.Finish(call.reply)) return;
  const bool was_held =
      call.dispatcher.engine().Unlock(request, call.now, call.dispatcher.effects());
  call.reply.Integer(was_held ? 1 : 0);
}

void Renew(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  engine::RenewRequest request;
  request.key = arguments.Key(call.client.database(), call.key_hash);
  request.owner = arguments.Owner("owner");
  std::uint32_t seen = 0;
  while (arguments.has_more()) {
    if (TakeLease(arguments, seen, request.lease_ms)) continue;
    if (!TakeToken(arguments, seen, request.token)) {
      arguments.FailUnknownOption("EX, PX or TOKEN");
    }
  }
  if (!arguments.Finish(call.reply)) return;
  const bool is_renewed =
      call.dispatcher.engine().Renew(request, call.now, call.dispatcher.effects());
  call.reply.Integer(is_renewed ? 1 : 0);
}

void Wait(Invocation& call) {
  // Two whole numbers are Redis' own WAIT for replicas, of which there are none.
  if (call.arguments.size() == 3 && ParseInteger(call.arguments[1]) &&
      ParseInteger(call.arguments[2])) {
    call.reply.Integer(0);
    return;
  }
  ArgumentReader arguments(call.arguments);
  engine::WaitRequest request;
  request.key = arguments.Key(call.client.database(), call.key_hash);
  if (!arguments.Take("TIMEOUT"))
    arguments.Fail("syntax error: TIMEOUT and a duration are missing");
  request.timeout_ms = arguments.DurationOrForever("TIMEOUT");
  if (!arguments.Finish(call.reply)) return;
  switch (
      call.dispatcher.engine().Wait(request, call.client, call.now, call.dispatcher.effects())) {
    case engine::WaitStatus::kFree:
      call.reply.Integer(1);
      break;
    case engine::WaitStatus::kTimedOut:
      call.reply.Integer(0);
      break;
    case engine::WaitStatus::kTooManyPlaces:
      RefuseTooMany(call.reply, "places in line (max_places)");
      break;
    case engine::WaitStatus::kWaiting:
      call.client.WaitFor(WaitKind::kKeyFree);
      break;
  }
}

void Check(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  const engine::KeyName key = arguments.Key(call.client.database());
  const engine::Token token = arguments.Token("token");
  if (!arguments.Finish(call.reply)) return;
  const bool holds =
      call.dispatcher.engine().Check(key, token, call.now, call.dispatcher.effects());
  call.reply.Integer(holds ? 1 : 0);
}

void Cancel(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  const engine::KeyName key = arguments.Key(call.client.database());
  const std::string_view owner = arguments.Owner("owner");
  if (!arguments.Finish(call.reply)) return;
  const bool had_place =
      call.dispatcher.engine().Cancel(key, owner, call.now, call.dispatcher.effects());
  call.reply.Integer(had_place ? 1 : 0);
}

void Transfer(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  engine::TransferRequest request;
  request.key = arguments.Key(call.client.database(), call.key_hash);
  request.owner = arguments.Owner("owner");
  request.new_owner = arguments.Owner("new-owner");
  std::uint32_t seen = 0;
  while (arguments.has_more()) {
    if (TakeLease(arguments, seen, request.lease_ms)) continue;
    if (!TakeToken(arguments, seen, request.token)) {
      arguments.FailUnknownOption("EX, PX or TOKEN");
    }
  }
  if (!arguments.Finish(call.reply)) return;
  const engine::TransferResult result =
      call.dispatcher.engine().Transfer(request, call.now, call.dispatcher.effects());
  switch (result.status) {
    case engine::TransferStatus::kTransferred:
      call.reply.Integer(static_cast<std::int64_t>(result.token));
      break;
    case engine::TransferStatus::kNotHeld:
      call.reply.Null();
      break;
    case engine::TransferStatus::kNewOwnerHoldsAlready:
      call.reply.Error(ErrorCode::kErr,
                       "new-owner: " + Quoted(request.new_owner) +
                           " holds this key already; another owner would be right");
      break;
  }
}

constexpr KeyPositions kFirstKey = {1, 1, 1};

constexpr std::array<CommandSpec, 7> kLockCommands = {{
    {"LOCK", Lock, -3, kWrite | kBlocking | kFast, kFirstKey, "lock",
     "key owner [EX seconds | PX milliseconds] [WAIT duration | WAIT FOREVER] [KEEP duration] "
     "[LIMIT n | SHARED] [SESSION [GRACE duration]] [MINHOLD duration] [NEW] "
     "[MAXWAITERS n [REPLACE]] [META blob] [LABEL name] [EXPLAIN]",
     "Takes a lock, or waits in line for it; replies with the fencing token, or nil", "O(1)"},
    {"UNLOCK", Unlock, -3, kWrite | kFast, kFirstKey, "lock", "key owner [TOKEN token]",
     "Releases what the owner holds and hands it to the next in line; 1 if it held", "O(1)"},
    {"RENEW", Renew, -3, kWrite | kFast, kFirstKey, "lock",
     "key owner [EX seconds | PX milliseconds] [TOKEN token]",
     "Makes the lease end that long from now; 0 if the owner does not hold the lock", "O(1)"},
    {"WAIT", Wait, -3, kReadOnly | kBlocking, kFirstKey, "lock",
     "key TIMEOUT duration | key TIMEOUT FOREVER",
     "Waits until no hold given up to now remains; 1 then, 0 on time-out", "O(1)"},
    {"CHECK", Check, 3, kReadOnly | kFast, kFirstKey, "lock", "key token",
     "Whether this token holds the key now", "O(1), with LIMIT O(holders)"},
    {"CANCEL", Cancel, 3, kWrite | kFast, kFirstKey, "lock", "key owner",
     "Gives up the owner's place in line; its waiting request is answered", "O(1)"},
    {"TRANSFER", Transfer, -4, kWrite | kFast, kFirstKey, "lock",
     "key owner new-owner [EX seconds | PX milliseconds] [TOKEN token]",
     "Hands a held lock to another owner under a new token", "O(1)"},
}};

}  // namespace

std::span<const CommandSpec> LockCommands() { return kLockCommands; }

}  // namespace fairlock::command
