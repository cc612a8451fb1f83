#include "server/services/relay_service.h"

#include <utility>

#include "server/services/cluster_settings.h"

namespace fairlock::server {

using storage::replicated::Beat;
using storage::replicated::LeaderView;

namespace {

// If this node has heard of no leader this long after its start, or has not read the locks this
// long after it has taken over, it answers requests nevertheless, because etcd may be down.
constexpr engine::DurationMs kLateMs = 4'000;

}  // namespace

RelayService::RelayService(net::TurnLoop& loop, Log& log)
    : loop_(loop),
      log_(log),
      late_(loop.io_context(), [this] { AnswerHere(); }),
      to_loop_(loop.io_context()) {}

void RelayService::Start(const Config& config, net::ConnectionSink* tls,
                         std::function<void(const storage::replicated::RunId&)> on_refused) {
  if (config.cluster_etcd.empty()) return;
  own_address_ = OwnAddress(config);
  tls_ = tls;
  probe_.emplace(loop_.io_context(),
                 [this, on_refused = std::move(on_refused)] { on_refused(seen_.leader.run); });
  if (!config.cluster_relay) return;
  relay_.emplace(loop_.io_context(), loop_.turn(),
                 net::RelayOptions{
                     .connections_max = static_cast<std::size_t>(config.max_clients),
                     .sockets = {.keepalive_seconds = static_cast<int>(config.tcp_keepalive / 1000),
                                 .user_timeout_ms = static_cast<int>(config.tcp_user_timeout)}},
                 net::OwnSinks{.plain = loop_.connections(), .tls = tls});
  late_.Set(kLateMs);
}

void RelayService::LeaderSeen(const LeaderView& view) {
  to_loop_.Post([this, view] { OnLeader(view); });
}

void RelayService::OnLeader(const LeaderView& view) {
  if (view.is_this_node) log_.Info("taking over, epoch {}: reading the locks", view.beat.epoch);
  if (view.beat != seen_.leader || view.is_this_node) OnOtherLeader(view);
  probe_->SetSilent(view.is_silent);
  if (view.awaits_acceptance && !seen_.awaits_acceptance) {
    log_.Error(
        "etcd has an older state than this node has seen, so it may have been restored from a "
        "backup; this node does not take over until you run `fairlockctl cluster accept-restore`");
  }
  seen_.awaits_acceptance = view.awaits_acceptance;
  if (view.is_lost && !seen_.is_lost) {
    log_.Warning("no node leads, as far as this node knows; {} was heard of some seconds ago",
                 view.beat.leader.empty() ? "a leader" : Escaped(view.beat.leader));
  }
  seen_.is_lost = view.is_lost;
  if (view.is_this_node) {
    late_.Set(kLateMs);
  } else if (view.beat.epoch > 0) {
    late_.Cancel();
  }
  if (!relay_ || answering_ == Answering::kHere) return;
  if (view.awaits_acceptance || view.is_lost) return AnswerHere();
  EndAnswering();
  relay_->SetDoubt(view.is_silent);
}

void RelayService::AnswerHere() {
  if (!relay_ || answering_ == Answering::kHere) return;
  answering_ = Answering::kHereMeanwhile;
  relay_->AnswerHere();
}

// The clients that were answered here find the leader if they connect again.
void RelayService::EndAnswering() {
  if (std::exchange(answering_, Answering::kElsewhere) == Answering::kElsewhere) return;
  loop_.CloseConnections(net::CloseReason::kLeaderIsElsewhere);
}

void RelayService::OnOtherLeader(const LeaderView& view) {
  seen_.leader = view.beat;
  const auto address = AddressOf(view);
  if (address) log_.Info("node {} leads, at {}", view.beat.leader, view.beat.address);
  probe_->SetLeader(address);
  if (!relay_ || answering_ == Answering::kHere) return;
  if (relay_->relayed() > 0) {
    log_.Info("leadership is moving: {} relayed connections are closed", relay_->relayed());
  }
  relay_->SetLeader(address);
}

// None, too, if the leader has this node's own address: the last run of this node left such a beat,
// and this node would relay connections to itself.
std::optional<net::LeaderAddress> RelayService::AddressOf(const LeaderView& view) const {
  const bool is_leading = view.beat.epoch > 0 && view.beat.state == Beat::State::kLeading;
  if (!is_leading || view.is_this_node || view.beat.address == own_address_) return std::nullopt;
  auto address = net::ParseLeaderAddress(view.beat.address);
  if (!address) {
    log_.Error("the leader's address is not host:port: {}", Escaped(view.beat.address));
    return std::nullopt;
  }
  address->tls_port = view.beat.tls_port;
  return address;
}

void RelayService::ServeHere() {
  AssertInLoop();
  late_.Cancel();
  if (!relay_ || std::exchange(answering_, Answering::kHere) == Answering::kHere) return;
  log_.Info("serving {} parked connections on this node", relay_->parked());
  loop_.ReplaceSink(relay_->door());
  if (tls_ != nullptr) loop_.ReplaceSink(relay_->tls_door(), tls_);
  relay_->ServeHere();
}

void RelayService::Close() {
  late_.Cancel();
  if (relay_) relay_->Close();
  if (probe_) probe_->SetLeader(std::nullopt);
}

void RelayService::Apply(const Config& config) {
  if (relay_) relay_->set_connections_max(static_cast<std::size_t>(config.max_clients));
}

}  // namespace fairlock::server
