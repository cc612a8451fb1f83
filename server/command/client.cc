#include "server/command/client.h"

#include <cassert>
#include <utility>

#include "server/command/dispatcher.h"
#include "server/command/lock_replies.h"

namespace fairlock::command {

using protocol::ErrorCode;
using protocol::ParseStatus;

Client::Client(Dispatcher& dispatcher, Transport& transport, ClientAddress address,
               engine::TimeMs now)
    : dispatcher_(dispatcher), transport_(transport) {
  profile_.address = std::move(address);
  profile_.connected_at = now;
  profile_.active_at = now;
  profile_.id = dispatcher_.Register(*this);
}

Client::~Client() { assert(is_detached_); }

std::size_t Client::Consume(std::string_view input, std::size_t requests_max, engine::TimeMs now) {
  protocol::Arguments& arguments = dispatcher_.arguments();
  std::size_t consumed = 0;
  std::size_t requests = 0;
  while (!is_waiting() && !is_closing_ && requests < requests_max) {
    const protocol::ParseResult parsed =
        parser_.Parse(input.substr(consumed), dispatcher_.limits(), arguments);
    consumed += parsed.consumed;
    if (parsed.status == ParseStatus::kNeedMore) break;
    if (parsed.status == ParseStatus::kError) {
      ++dispatcher_.counters().protocol_errors;
      writer().Error(parsed.error);
      CloseAfterOutput();
      break;
    }
    dispatcher_.Execute(*this, arguments, now);
    ++requests;
  }
  profile_.commands_processed += requests;
  profile_.active_at = now;
  has_more_ = consumed < input.size() && (is_waiting() || requests == requests_max);
  return consumed;
}

void Client::Detach(engine::TimeMs now) {
  if (std::exchange(is_detached_, true)) return;
  wait_kind_ = WaitKind::kNothing;
  dispatcher_.Unregister(*this, now);
}

void Client::ExplainLater(const engine::KeyName& key, std::string_view owner) {
  explained_ = std::make_unique<ExplainedRequest>(
      ExplainedRequest{key.db, std::string(key.bytes), std::string(owner)});
}

void Client::Resolve(const engine::Resolution& resolution, engine::TimeMs now) {
  if (is_detached_) return;
  assert(is_waiting());
  wait_kind_ = WaitKind::kNothing;
  switch (resolution.kind) {
    case engine::ResolutionKind::kWatchEnded:
      writer().Integer(1);
      break;
    case engine::ResolutionKind::kWatchTimedOut:
      writer().Integer(0);
      break;
    default:
      AnswerWaitingLock(resolution, now);
      break;
  }
  explained_.reset();
  transport_.NoticeOutput();
}

void Client::AnswerWaitingLock(const engine::Resolution& resolution, engine::TimeMs now) {
  protocol::ReplyWriter reply = writer();
  if (resolution.kind == engine::ResolutionKind::kSuperseded) {
    reply.Error(ErrorCode::kSuperseded, "a later LOCK of the same owner took over this place");
    return;
  }
  if (resolution.kind == engine::ResolutionKind::kCancelled) {
    reply.Error(ErrorCode::kCancelled, "CANCEL or UNLOCK gave up this place");
    return;
  }
  const bool is_granted = resolution.kind == engine::ResolutionKind::kGranted;
  if (explained_ != nullptr) {
    WriteExplanation(
        reply, dispatcher_, {explained_->db, explained_->key}, explained_->owner,
        {is_granted ? "granted" : "timeout", engine::DenialReason::kNone, resolution.token}, now);
  } else if (is_granted) {
    reply.Integer(static_cast<std::int64_t>(resolution.token));
  } else {
    reply.Null();
  }
}

void Client::Reset() {
  version_ = protocol::RespVersion::kResp2;
  database_ = 0;
  SetName("");
}

void Client::SetName(std::string_view name) {
  profile_.name = name;
  dispatcher_.engine().clients().Rename(client, name);
}

}  // namespace fairlock::command
