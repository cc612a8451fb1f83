#include "tests/simulation/fleet/server_connection.h"

#include <cassert>
#include <utility>

#include "protocol/reply_parser.h"

namespace fairlock::fleet {

namespace {

constexpr std::size_t kRequestsMax = 100;

Reply ReplyOf(const protocol::Reply& parsed) {
  if (parsed.type == protocol::ReplyType::kInteger) {
    return {.kind = Reply::Kind::kNumber, .number = parsed.integer};
  }
  if (parsed.IsNull()) return {};
  if (parsed.type == protocol::ReplyType::kArray) {
    // "subscribe", the channel, the number of subscriptions; or "message", the channel, the message
    const protocol::Reply& content = parsed.elements.back();
    return {.kind = Reply::Kind::kMessage,
            .text = parsed.elements.front().text + " " + content.text};
  }
  assert(parsed.IsError());
  return {.kind = Reply::Kind::kError, .text = parsed.text};
}

}  // namespace

ServerConnection::ServerConnection(Turn& turn, std::shared_ptr<Link> link)
    : turn_(turn),
      link_(std::move(link)),
      pipeline_(turn.parts.pipeline, *this,
                command::ClientAddress{"127.0.0.1:50001", "127.0.0.1:3247", 8}, turn.now) {}

void ServerConnection::Receive() { input_ += std::exchange(link_->arrived, {}); }

bool ServerConnection::IsWaitingOrUntold() {
  return client().wait.is_waiting() || client().grants.HasAwaited();
}

void ServerConnection::CloseIfDisconnected() {
  if (is_closed_ || !link_->has_client_closed) return;
  const bool has_work = CanExecute() || !client().output.bytes().empty();
  if (IsWaitingOrUntold() || !has_work) Close();
}

void ServerConnection::Execute() {
  if (is_closed_ || !CanExecute()) return;
  input_.erase(0, pipeline_.Consume(input_, kRequestsMax, turn_.now));
  if (!input_.empty() || link_->request->fate != Request::Fate::kUnderWay) return;
  link_->request->fate = Request::Fate::kExecuted;
  link_->request->decided_at = Time().now();
  link_->request->by = turn_.by;
}

void ServerConnection::Finish() {
  if (is_closed_) return;
  TellDecision();
  HoldBackOutput();
  SendOutput();
  if (!link_->has_client_closed) return;
  if (IsWaitingOrUntold() || (client().output.bytes().empty() && !CanExecute())) Close();
}

void ServerConnection::TellDecision() {
  const std::uint64_t written = client().output.written();
  if (std::exchange(seen_output_, written) != written) decided_at_ = Time().now();
}

void ServerConnection::HoldBackOutput() {
  if (turn_.state_log == nullptr) return gate_.Pass(client().output.written());
  if (client().output.TakeStateDependency()) {
    const std::uint64_t batch = turn_.state_log->Seal(turn_.now);
    if (batch > turn_.state_log->completed_batch()) {
      gate_.Close(client().output.written(), batch);
    }
  }
  gate_.Pass(client().output.written());
  if (!gate_.is_open()) gate_.Release(turn_.state_log->completed_batch());
}

void ServerConnection::SendOutput() {
  command::ClientOutput& output = client().output;
  std::string& bytes = output.bytes();
  const std::uint64_t sendable =
      gate_.is_open() ? bytes.size() : gate_.open_up_to() - output.sent();
  if (sendable == 0 || turn_.process.is_dead) return;
  for (std::string_view rest(bytes.data(), sendable); !rest.empty();) rest = SendFirst(rest);
  output.CountTaken(sendable);
  client().NoticeSent(sendable);
  bytes.erase(0, sendable);
}

// Sends the first of these replies; returns the others.
std::string_view ServerConnection::SendFirst(std::string_view replies) {
  protocol::ReplyParser parser;
  protocol::Reply parsed;
  std::size_t consumed = 0;
  const protocol::ReplyStatus status = parser.Parse(replies, parsed, consumed);
  assert(status == protocol::ReplyStatus::kReply);
  Reply reply = ReplyOf(parsed);
  reply.decided = decided_at_;
  reply.left = Time().now();
  turn_.network.SendReply(link_, reply);
  return replies.substr(consumed);
}

void ServerConnection::Close() {
  if (std::exchange(is_closed_, true)) return;
  turn_.network.CloseAtServer(link_);
  pipeline_.Detach(turn_.now);
}

}  // namespace fairlock::fleet
