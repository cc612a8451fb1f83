#include "cli/connection/client.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "cli/connection/server_errors.h"
#include "cli/output/duration.h"

namespace fairlock::cli {

namespace {

constexpr DurationMs kPollMsMax = 60'000;
// How long to wait before asking the servers again which of them serves locks.
constexpr std::chrono::milliseconds kNextRound{200};

bool IsMessage(const protocol::Reply& reply) { return reply.type == protocol::ReplyType::kPush; }

}  // namespace

Result<std::optional<protocol::Reply>> Client::TakeNext(TimeMs give_up_at, bool until_ready) {
  while (true) {
    has_connected_ = has_connected_ || connection_.is_ready();
    if (until_ready && connection_.is_ready()) return std::optional<protocol::Reply>();
    if (auto reply = connection_.Take()) return std::optional(std::move(*reply));
    if (failure_) return *failure_;
    if (connection_.state() == AsyncConnection::State::kClosed) {
      failure_ = connection_.end();
      continue;
    }
    const TimeMs now = NowMs();
    if (now >= give_up_at) return std::optional<protocol::Reply>();
    const DurationMs left = std::min({give_up_at, connection_.WakeAt()}) - now;
    pollfd ready = connection_.Interest();
    ::poll(&ready, 1, static_cast<int>(std::clamp<DurationMs>(left, 0, kPollMsMax)));
    connection_.Advance(NowMs());
  }
}

Result<protocol::Reply> Client::AskRaw(std::span<const std::string_view> arguments,
                                       DurationMs patience_ms) {
  TimeMs search_until = kForever;
  while (true) {
    Result<protocol::Reply> outcome = AskOnce(arguments, patience_ms);
    const TimeMs now = NowMs();
    const bool is_moved = IsRedirect(outcome);
    if (!is_moved && !MayAskElsewhere(arguments, outcome)) return outcome;
    if (now >= search_until) return outcome;
    // Waits only between rounds: when the first round fails, another server may already serve
    // locks.
    if (search_until < kForever) std::this_thread::sleep_for(kNextRound);
    search_until = std::min(search_until, now + settings_.timeout_ms);
    if (is_moved) {
      connection_.servers().Redirect(*MovedTo(*outcome));
    } else if (outcome) {
      connection_.servers().Skip();
    }
    OpenAgain();
  }
}

bool Client::IsRedirect(const Result<protocol::Reply>& outcome) const {
  return follows_redirects_ && outcome && MovedTo(*outcome).has_value();
}

std::optional<Failure> Client::Connect() {
  const Result<protocol::Reply> outcome = AskRaw({}, 0);
  return outcome ? std::nullopt : std::optional(outcome.failure());
}

bool Client::MayAskElsewhere(std::span<const std::string_view> arguments,
                             const Result<protocol::Reply>& outcome) const {
  if (!connection_.servers().has_choice() || ContinuesWalk(arguments)) return false;
  if (outcome) return IsRefusalToServe(*outcome);
  // Without a connection, nothing was sent, so the search continues if a standby was found: it may
  // serve locks soon.
  return has_connected_ ? IsRepeatable(arguments) : connection_.servers().found_standby();
}

Result<protocol::Reply> Client::AskOnce(std::span<const std::string_view> arguments,
                                        DurationMs patience_ms) {
  const TimeMs now = NowMs();
  OpenOnce();
  if (!arguments.empty()) connection_.Send(arguments);
  const DurationMs patience = patience_ms > 0 ? patience_ms : settings_.timeout_ms;
  while (true) {
    Result<std::optional<protocol::Reply>> reply = TakeNext(now + patience, arguments.empty());
    if (!reply) return reply.failure();
    if (arguments.empty() && connection_.is_ready()) return protocol::Reply();
    if (!reply->has_value()) {
      // A late reply must not be taken for the reply to the next request.
      connection_.Close();
      failure_ = Failure{kExitUnreachable, ServerName() + " did not answer within " +
                                               ShowDuration(patience) +
                                               "; it may be overloaded or stopped; --timeout sets "
                                               "how long to wait"};
      return *failure_;
    }
    if (!IsMessage(**reply)) return std::move(**reply);
    messages_.push_back(std::move(**reply));
  }
}

Result<protocol::Reply> Client::Ask(std::span<const std::string_view> arguments,
                                    DurationMs patience_ms) {
  Result<protocol::Reply> reply = AskRaw(arguments, patience_ms);
  if (reply && reply->IsError()) return ServerFailure(reply->text, ServerName());
  return reply;
}

Result<std::optional<protocol::Reply>> Client::WaitForMessage(TimeMs give_up_at) {
  if (!messages_.empty()) {
    protocol::Reply message = std::move(messages_.front());
    messages_.pop_front();
    return std::optional(std::move(message));
  }
  return TakeNext(give_up_at);
}

Settings Client::SettingsOfServer() const {
  const ServerList& servers = connection_.servers();
  return servers.is_at_socket() ? settings_ : SettingsFor(servers.current(), settings_);
}

void Client::OpenOnce() {
  if (!is_opened_) connection_.Open(NowMs());
  is_opened_ = true;
}

void Client::Send(std::initializer_list<std::string_view> arguments) {
  OpenOnce();
  connection_.Send(arguments);
}

void Client::OpenAgain() {
  failure_.reset();
  has_connected_ = false;
  connection_.Open(NowMs());
  is_opened_ = true;
}

void Client::Reconnect() {
  messages_.clear();
  OpenAgain();
}

bool ContinuesWalk(std::span<const std::string_view> request) {
  if (request.size() < 2) return false;
  if (request[0] == "LOCKS" || request[0] == "SCAN") return request[1] != "0";
  return request[0] == "HISTORY" && std::ranges::find(request, "BEFORE") != request.end();
}

bool IsRepeatable(std::span<const std::string_view> request) {
  // SELECT changes only the connection, which is lost anyway.
  constexpr auto kReads = std::to_array<std::string_view>(
      {"CHECK", "EXISTS", "HISTORY", "INFO", "LOCKED", "LOCKINFO", "LOCKS", "PING", "POSITION",
       "QUEUE", "SCAN", "SELECT", "STATS", "TTL"});
  constexpr auto kReadsOfContainers = std::to_array<std::array<std::string_view, 2>>(
      {{"CLIENT", "LIST"}, {"CLUSTER", "STATUS"}, {"CONFIG", "GET"}, {"LIMIT", "LIST"}});
  if (request.empty() || ContinuesWalk(request)) return false;
  if (std::ranges::find(kReads, request[0]) != kReads.end()) return true;
  if (request.size() < 2) return false;
  return std::ranges::any_of(kReadsOfContainers, [&](const auto& words) {
    return request[0] == words[0] && request[1] == words[1];
  });
}

}  // namespace fairlock::cli
