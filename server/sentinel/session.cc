#include "server/sentinel/session.h"

#include <utility>

#include "server/sentinel/sentinel_commands.h"

namespace fairlock::sentinel {

namespace {

constexpr std::size_t kRequestsPerTurn = 64;

protocol::RequestLimits LimitsFor(const command::Client& client) {
  return {.arguments_max = 128,
          .argument_bytes_max = Session::kRequestBytesMax,
          .request_bytes_max = Session::kRequestBytesMax,
          .inline_bytes_max = Session::kRequestBytesMax,
          .before_auth = client.rights.user() == nullptr};
}

}  // namespace

Session::Session(command::ServerParts& server, const LeaderWatch& watch,
                 command::ClientAddress address, engine::TimeMs now, std::function<void()> notice)
    : server_(server),
      watch_(watch),
      notice_(std::move(notice)),
      pipeline_(server.pipeline, *this, std::move(address), now) {
  client().profile.is_at_sentinel_port = true;
}

std::size_t Session::Consume(std::string_view input, engine::TimeMs now) {
  std::size_t consumed = 0;
  has_more_ = false;
  for (std::size_t i = 0; !is_killed_ && !is_over(); ++i) {
    has_more_ = client().wait.is_waiting() || i == kRequestsPerTurn ||
                client().output.bytes().size() > kOutputPauseBytes;
    if (has_more_) break;
    const protocol::ParseResult result =
        parser_.Parse(input.substr(consumed), LimitsFor(client()), arguments_);
    consumed += result.consumed;
    if (result.status == protocol::ParseStatus::kNeedMore) break;
    if (result.status == protocol::ParseStatus::kError) {
      pipeline_.EndWith(result.error.code, result.error.text);
      break;
    }
    Call call{.server = server_,
              .pipeline = pipeline_,
              .watch = watch_,
              .subscriptions = subscriptions_,
              .arguments = arguments_.views(),
              .reply = client().writer(),
              .now = now};
    Execute(call);
  }
  return consumed;
}

void Session::Publish(const Message& message) {
  if (is_killed_ || is_over() || subscriptions_.size() == 0) return;
  protocol::ReplyWriter out = client().writer();
  subscriptions_.Write(message, out);
  if (client().output.bytes().size() > kOutputBytesMax) is_killed_ = true;
  notice_();
}

std::string Session::TakeOutput() {
  std::string output;
  output.swap(client().output.bytes());
  client().output.CountTaken(output.size());
  client().NoticeSent(output.size());
  return output;
}

void Session::CloseNow() {
  is_killed_ = true;
  notice_();
}

}  // namespace fairlock::sentinel
