#include "server/command/lock_answer.h"

#include <cstdint>
#include <string>

#include "server/command/dispatcher.h"
#include "server/command/lock_replies.h"
#include "server/command/refusals.h"
#include "server/command/text.h"

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

// "a waits for k2 held by b, b waits for k1 held by a". Keys of others stay unknown.
void RefuseDeadlock(const Client& client, protocol::ReplyWriter& reply,
                    const engine::Deadlock& deadlock) {
  std::string text;
  for (const engine::DeadlockLink& link : deadlock.links) {
    if (!text.empty()) text += ", ";
    const bool is_known = client.MayRead(link.key.bytes);
    text += Escaped(link.waiter) + " waits for " + Escaped(is_known ? link.key.bytes : "?") +
            (link.is_held ? " held by " : " behind ") + Escaped(link.blocker);
  }
  const std::size_t left_out = deadlock.link_count - deadlock.links.size();
  if (left_out > 0) text += ", and " + std::to_string(left_out) + " more";
  reply.Error(ErrorCode::kDeadlock, text);
}

// True: it is an error.
bool Refuse(Invocation& call, const engine::KeyName& key, engine::LockStatus status) {
  protocol::ReplyWriter& reply = call.reply;
  switch (status) {
    case engine::LockStatus::kModeDiffers:
      reply.Error(ErrorCode::kErr,
                  "LIMIT or SHARED: the owner holds this key in a mode that does not cover this "
                  "one; ask for the same mode, or UNLOCK first");
      return true;
    case engine::LockStatus::kStakedOtherwise:
      reply.Error(ErrorCode::kErr, "key: this owner holds or waits for " + Quoted(key.bytes) +
                                       " otherwise than by an MLOCK of exactly these keys; UNLOCK "
                                       "it first");
      return true;
    case engine::LockStatus::kWaitsByMlock:
      reply.Error(ErrorCode::kErr, "key: this owner waits for " + Quoted(key.bytes) +
                                       " by an MLOCK; repeat that MLOCK, or CANCEL first");
      return true;
    default:
      if (!engine::IsRefusal(status)) return false;
      RefuseBound(call, status);
      return true;
  }
}

}  // namespace

void AnswerLock(Invocation& call, const AskedLock& asked, const engine::LockResult& result) {
  const engine::KeyName& key = asked.keys[result.key];
  if (result.status == engine::LockStatus::kDeadlock) {
    RefuseDeadlock(call.client, call.reply, call.dispatcher.engine().deadlock());
    return;
  }
  if (Refuse(call, key, result.status)) return;
  const bool names_key = asked.keys.size() > 1;
  if (result.status == engine::LockStatus::kQueued && !asked.is_notified) {
    call.client.WaitFor(WaitKind::kLock);
    if (asked.is_explained) call.client.ExplainLater({key, asked.owner, names_key});
    return;
  }
  if (result.status == engine::LockStatus::kAlready) {
    call.dispatcher.MoveDelivery(result.key_hash, result.token, call.client);
  }
  if (asked.is_explained) {
    WriteExplanation(call.reply, call.dispatcher, {key, asked.owner, names_key},
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

}  // namespace fairlock::command
