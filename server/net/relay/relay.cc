#include "server/net/relay/relay.h"

#include <utility>

#include "server/net/clock.h"
#include "server/net/sockets/socket_options.h"

namespace fairlock::net {

namespace {

constexpr engine::DurationMs kTickMs = 100;
constexpr engine::DurationMs kHandOverTickMs = 10;
constexpr std::size_t kHandOversMax = 256;  // per tick

constexpr std::string_view kNoLeader = "-CLUSTERDOWN no node leads the fleet; try again\r\n";
constexpr std::string_view kNoPlainPort =
    "-CLUSTERDOWN the leader has no plaintext port (port is 0); connect with TLS\r\n";

}  // namespace

Relay::Relay(boost::asio::io_context& io, Turn& turn, const RelayOptions& options,
             const OwnSinks& own_sinks)
    : turn_(turn),
      parked_ms_max_(options.parked_ms_max),
      own_sinks_(own_sinks),
      connections_max_(options.connections_max),
      doors_{.plain = {turn, false, [this](ParkedConnection one) { Take(std::move(one)); }},
             .tls = {turn, true, [this](ParkedConnection one) { Take(std::move(one)); }}},
      dials_(io, options.sockets,
             {.on_open = [this] { Advance(); },
              .on_connected =
                  [this](ParkedConnection client, OwnedDescriptor leader) {
                    relayed_.Add(std::move(client.address.peer), std::move(client.socket),
                                 std::move(leader));
                    Advance();
                  },
              .on_failed =
                  [this](ParkedConnection client) {
                    parked_.Add(std::move(client));
                    Advance();
                  }}),
      relayed_(io, [this](const std::string& peer) { turn_.addresses.Remove(peer); }),
      alarm_(io, [this] {
        GiveUpOverdue();
        Advance();
      }) {}

void Relay::SetLeader(std::optional<LeaderAddress> leader) {
  if (state_ == State::kServesHere || state_ == State::kClosed) return;
  relayed_.CloseAll();
  for (ParkedConnection& client : dials_.TakeBackAll()) parked_.Add(std::move(client));
  dials_.SetLeader(std::move(leader));
}

void Relay::SetDoubt(bool is_in_doubt) {
  if (state_ == State::kServesHere || state_ == State::kClosed) return;
  state_ = is_in_doubt ? State::kInDoubt : State::kStandsBy;
  Advance();
}

void Relay::AnswerHere() {
  if (state_ == State::kServesHere || state_ == State::kClosed) return;
  state_ = State::kAnswersHere;
  Advance();
}

void Relay::ServeHere() {
  if (state_ == State::kClosed) return;
  SetLeader(std::nullopt);
  state_ = State::kServesHere;
  Advance();
}

void Relay::Close() {
  state_ = State::kClosed;
  relayed_.CloseAll();
  for (const ParkedConnection& client : dials_.TakeBackAll()) GiveUp(client, "");
  while (!parked_.empty()) GiveUp(parked_.TakeFirst(), "");
  dials_.SetLeader(std::nullopt);
  alarm_.Cancel();
}

void Relay::Take(ParkedConnection client) {
  AssertInLoop();
  if (state_ == State::kClosed || parked() + relayed() >= connections_max_) {
    return Refuse(client, {.connections_max = connections_max_});
  }
  if (turn_.addresses.IsFull(client.address.peer)) {
    return Refuse(client, {.is_by_address = true, .connections_max = turn_.addresses.count_max()});
  }
  turn_.addresses.Add(client.address.peer);
  client.until = BoottimeMs() + parked_ms_max_;
  parked_.Add(std::move(client));
  Advance();
}

void Relay::Refuse(const ParkedConnection& client, const Refusal& refusal) {
  ++turn_.server.statistics.counters.connections_rejected;
  if (refusal.is_by_address) ++turn_.server.statistics.counters.rejected_by_address;
  if (!client.is_tls) SendLastWords(client.socket.number(), TextOf(refusal));
  turn_.events.LogRefused(client.address.peer, refusal, turn_.now);
}

void Relay::Advance() {
  AssertInLoop();
  if (hands_over()) HandOver();
  while (state_ == State::kStandsBy && !parked_.empty() && dials_.CanDial(BoottimeMs())) {
    DialFor(parked_.TakeFirst());
  }
  if (parked() > 0) alarm_.Set(hands_over() ? kHandOverTickMs : kTickMs);
}

void Relay::DialFor(ParkedConnection client) {
  const LeaderAddress& leader = *dials_.leader();
  const bool has_port = (client.is_tls ? leader.tls_port : leader.port) != 0;
  if (!has_port) return GiveUp(client, kNoPlainPort);
  dials_.DialFor(std::move(client));
}

void Relay::HandOver() {
  const auto has_space = [this,
                          tls_space = own_sinks_.tls == nullptr ? 0 : own_sinks_.tls->Capacity()](
                             const ParkedConnection& client) mutable {
    return !client.is_tls || (tls_space > 0 && tls_space-- > 0);
  };
  for (ParkedConnection& client : parked_.Take(kHandOversMax, has_space)) {
    turn_.addresses.Remove(client.address.peer);
    ConnectionSink& sink = client.is_tls ? *own_sinks_.tls : own_sinks_.plain;
    sink.TakeConnection(client.socket.Release(), std::move(client.address));
  }
}

void Relay::GiveUpOverdue() {
  const engine::TimeMs now = BoottimeMs();
  for (const ParkedConnection& client : parked_.TakeOverdue(now)) GiveUp(client, kNoLeader);
  for (const ParkedConnection& client : dials_.TakeBackOverdue(now)) GiveUp(client, kNoLeader);
  dials_.Retry(now);
}

void Relay::GiveUp(const ParkedConnection& client, std::string_view error) {
  turn_.addresses.Remove(client.address.peer);
  if (client.is_tls || error.empty()) return;
  SendLastWords(client.socket.number(), error);
  EndInGoodOrder(client.socket.number());
}

}  // namespace fairlock::net
