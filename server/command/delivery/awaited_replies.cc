#include "server/command/delivery/awaited_replies.h"

#include <cassert>
#include <cstdint>

#include "server/command/locks/lock_replies.h"
#include "server/command/table/text.h"

namespace fairlock::command {

using engine::ResolutionKind;
using protocol::ErrorCode;

void AwaitedReplies::Resolve(Client& client, const engine::Resolution& resolution,
                             engine::TimeMs now) {
  if (client.is_detached) {
    // Undoing one of this client's grants may have granted the lock to another owner for whom the
    // client waited.
    if (resolution.kind == ResolutionKind::kGranted) {
      client.grants.AddAwaited(client.output.written(), resolution.key_hash, resolution.token);
    }
    return;
  }
  assert(client.wait.is_waiting());
  client.wait.End(statistics_.gauges);
  protocol::ReplyWriter reply = client.writer();
  const bool is_timed_out = resolution.kind == ResolutionKind::kTimedOut ||
                            resolution.kind == ResolutionKind::kWatchTimedOut;
  const bool is_cancelled = resolution.kind == ResolutionKind::kCancelled;
  const auto denial = client.wait.TakeDenial();
  if (denial != nullptr && (is_cancelled || is_timed_out)) {
    ++statistics_.counters.denied_requests;
    reply.Error(ErrorCode::kNoPerm, *denial);
  } else if (client.wait.TakeFailsAtTimeOut() && is_timed_out) {
    reply.Error(ErrorCode::kUnblocked, "client unblocked via CLIENT UNBLOCK");
  } else if (resolution.kind == ResolutionKind::kWatchTimedOut) {
    reply.Integer(0);
  } else if (resolution.kind == ResolutionKind::kWatchEnded) {
    reply.Integer(1);
  } else {
    AnswerLock(client, resolution, reply, now);
  }
  CountError(client, reply);
  client.wait.TakeExplained().reset();
  client.output.NoteFlags(kReadOnly);
  client.transport.NoticeOutput();
}

void AwaitedReplies::AnswerLock(Client& client, const engine::Resolution& resolution,
                                protocol::ReplyWriter& reply, engine::TimeMs now) {
  switch (resolution.kind) {
    case ResolutionKind::kSuperseded:
      return reply.Error(ErrorCode::kSuperseded,
                         "a later LOCK by the same owner took over this place");
    case ResolutionKind::kCancelled:
      return reply.Error(ErrorCode::kCancelled, "CANCEL or UNLOCK gave up this place");
    case ResolutionKind::kReplaced:
      return reply.Error(ErrorCode::kCancelled, "replaced by " + Quoted(resolution.by));
    default:
      break;
  }
  const bool is_granted = resolution.kind == ResolutionKind::kGranted;
  if (const auto explained = client.wait.TakeExplained()) {
    WriteExplanation(
        reply, locks_, unix_time_,
        {{explained->db, explained->key}, explained->owner, explained->names_key},
        {is_granted ? "granted" : "timeout", engine::DenialReason::kNone, resolution.token}, now);
  } else if (is_granted) {
    reply.Integer(static_cast<std::int64_t>(resolution.token));
  } else {
    reply.Null();
  }
  if (!is_granted) return;
  client.grants.AddAwaited(client.output.written(), resolution.key_hash, resolution.token);
}

void AwaitedReplies::AnswerBackup(Client& client, const std::string& error,
                                  const std::string& path) {
  if (client.is_detached || client.wait.kind() != WaitKind::kBackup) return;
  client.wait.End(statistics_.gauges);
  protocol::ReplyWriter reply = client.writer();
  if (!error.empty()) {
    reply.Error(ErrorCode::kErr, error);
  } else if (path.empty()) {
    reply.Ok();
  } else {
    reply.Bulk(path);
  }
  CountError(client, reply);
  client.transport.NoticeOutput();
}

void AwaitedReplies::CountError(const Client& client, const protocol::ReplyWriter& reply) {
  if (!reply.error()) return;
  // last_command is the command that waited, because nothing else is executed before it is
  // answered.
  assert(client.profile.last_command != nullptr);
  statistics_.commands.CountFailed(table_.IndexOf(client.profile.last_command->name),
                                   *reply.error());
}

}  // namespace fairlock::command
