#include "server/command/handlers/lock_answer.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/command/handlers/shared_replies.h"
#include "server/command/locks/lock_replies.h"
#include "server/command/server_parts.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;

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

// Returns the owners that the client could also learn from other commands: the requester, and the
// holders and waiters of keys that the client may read.
std::vector<std::string_view> OwnersToName(const Client& client, const engine::Deadlock& deadlock) {
  std::vector<std::string_view> owners;
  for (const engine::DeadlockLink& link : deadlock.links) {
    const bool is_readable = client.rights.MayRead(link.key.bytes);
    if (is_readable || owners.empty()) owners.push_back(link.waiter);
    if (is_readable) owners.push_back(link.blocker);
  }
  return owners;
}

// Sends an error such as "a waits for k2 held by b, b waits for k1 held by a". Keys and owners that
// the client may not see are shown as "?".
void RefuseDeadlock(const Client& client, protocol::ReplyWriter& reply,
                    const engine::Deadlock& deadlock) {
  const std::vector<std::string_view> owners = OwnersToName(client, deadlock);
  const auto owner_text = [&](std::string_view owner) {
    const bool is_known = std::ranges::find(owners, owner) != owners.end();
    return Escaped(is_known ? owner : "?");
  };
  std::string text;
  for (const engine::DeadlockLink& link : deadlock.links) {
    if (!text.empty()) text += ", ";
    const bool is_readable = client.rights.MayRead(link.key.bytes);
    text += owner_text(link.waiter) + " waits for " + Escaped(is_readable ? link.key.bytes : "?") +
            (link.is_held ? " held by " : " behind ") + owner_text(link.blocker);
  }
  const std::size_t left_out = deadlock.link_count - deadlock.links.size();
  if (left_out > 0) text += ", and " + std::to_string(left_out) + " more";
  reply.Error(ErrorCode::kDeadlock, text);
}

// Sends the error for that status and returns true, or returns false if the status is not an error.
bool Refuse(Invocation& call, const engine::KeyName& key, engine::LockStatus status) {
  protocol::ReplyWriter& reply = call.reply;
  switch (status) {
    case engine::LockStatus::kModeDiffers:
      reply.Error(ErrorCode::kErr,
                  "LIMIT or SHARED: the owner holds this key in a mode that does not cover the "
                  "requested one; ask for the same mode, or UNLOCK first");
      return true;
    case engine::LockStatus::kStakedOtherwise:
      reply.Error(ErrorCode::kErr,
                  "key: this owner holds or waits for " + Quoted(key.bytes) +
                      " other than through an MLOCK of exactly these keys; UNLOCK it first");
      return true;
    case engine::LockStatus::kWaitsByMlock:
      reply.Error(ErrorCode::kErr, "key: this owner waits for " + Quoted(key.bytes) +
                                       " as part of an MLOCK; repeat that MLOCK, or CANCEL first");
      return true;
    default:
      if (!engine::IsRefusal(status)) return false;
      RefuseBound(call, status);
      return true;
  }
}

// The owner of that token has repeated its request and gets the reply on this connection. Whether
// the grant is undone now depends on this reply instead of the message.
void MoveDelivery(const Invocation& call, std::uint64_t key_hash, engine::Token token) {
  if (call.server.grants.ForgetElsewhere(token, call.client.grants)) {
    NoteGrant(call, key_hash, token);
  }
}

}  // namespace

void NoteGrant(const Invocation& call, std::uint64_t key_hash, engine::Token token) {
  if (call.server.delivery.is_in_step()) return;
  call.client.grants.Add(call.client.output.written(), key_hash, token);
}

void AnswerLock(Invocation& call, const AskedLock& asked, const engine::LockResult& result) {
  const engine::KeyName& key = asked.keys[result.key];
  if (result.status == engine::LockStatus::kDeadlock) {
    RefuseDeadlock(call.client, call.reply, call.server.locks.engine().deadlocks().deadlock());
    return;
  }
  if (Refuse(call, key, result.status)) return;
  const bool names_key = asked.keys.size() > 1;
  if (result.status == engine::LockStatus::kQueued && !asked.is_notified) {
    call.client.wait.Begin(WaitKind::kLock, call.server.statistics.gauges);
    if (asked.is_explained) {
      call.client.wait.ExplainLater(
          {key.db, std::string(key.bytes), std::string(asked.owner), names_key});
    }
    return;
  }
  if (result.status == engine::LockStatus::kAlready) {
    MoveDelivery(call, result.key_hash, result.token);
  }
  if (asked.is_explained) {
    WriteExplanation(call.reply, call.server.locks, call.server.unix_time,
                     {key, asked.owner, names_key},
                     {StatusName(result.status), result.reason, result.token}, call.now);
  } else if (result.token != 0) {
    call.reply.Integer(static_cast<std::int64_t>(result.token));
  } else {
    call.reply.Null();
  }
  if (result.status == engine::LockStatus::kGranted) {
    NoteGrant(call, result.key_hash, result.token);
  }
}

}  // namespace fairlock::command
