#include "server/services/relay_service.h"

#include <utility>

#include "server/services/cluster_settings.h"

namespace fairlock::server {

using storage::replicated::Beat;
using storage::replicated::LeaderView;

RelayService::RelayService(net::TurnLoop& loop, Log& log)
    : loop_(loop), log_(log), to_loop_(loop.io_context()) {}

void RelayService::Start(const Config& config, net::ConnectionSink* tls,
                         std::function<void(const storage::replicated::RunId&)> on_refused) {
  if (config.cluster_etcd.empty()) return;
  own_address_ = OwnAddress(config);
  tls_ = tls;
  probe_.emplace(loop_.io_context(),
                 [this, on_refused = std::move(on_refused)] { on_refused(leader_.run); });
  if (config.cluster_relay == "no") return;
  relay_.emplace(loop_.io_context(), loop_.turn(),
                 net::RelayOptions{
                     .connections_max = static_cast<std::size_t>(config.max_clients),
                     .sockets = {.keepalive_seconds = static_cast<int>(config.tcp_keepalive / 1000),
                                 .user_timeout_ms = static_cast<int>(config.tcp_user_timeout)}},
                 net::OwnSinks{.plain = loop_.connections(), .tls = tls});
}

void RelayService::LeaderSeen(const LeaderView& view) {
  to_loop_.Post([this, view] { OnLeader(view); });
}

void RelayService::OnLeader(const LeaderView& view) {
  if (view.is_this_node) log_.Info("taking over, epoch {}: reading the locks", view.beat.epoch);
  if (view.beat != leader_ || view.is_this_node) OnOtherLeader(view);
  probe_->SetSilent(view.is_silent);
  if (view.awaits_acceptance && !awaits_acceptance_) {
    log_.Error(
        "etcd has an older state than this node has seen, so it may have been restored from a "
        "backup; this node does not take over until you run `fairlockctl cluster accept-restore`");
  }
  awaits_acceptance_ = view.awaits_acceptance;
  if (!relay_ || serves_here_) return;
  if (view.awaits_acceptance) {
    relay_->AnswerHere();
  } else {
    relay_->SetDoubt(view.is_silent);
  }
}

void RelayService::OnOtherLeader(const LeaderView& view) {
  leader_ = view.beat;
  const auto address = AddressOf(view);
  if (address) log_.Info("node {} leads, at {}", view.beat.leader, view.beat.address);
  probe_->SetLeader(address);
  if (!relay_ || serves_here_) return;
  if (relay_->relayed() > 0) {
    log_.Info("leadership is moving: {} relayed connections are closed", relay_->relayed());
  }
  relay_->SetLeader(address);
}

// None also if the leader has this node's own address. Such a beat is left from the last run of
// this node, which would relay connections to itself.
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
  if (!relay_ || std::exchange(serves_here_, true)) return;
  log_.Info("serving {} parked connections on this node", relay_->parked());
  loop_.ReplaceSink(relay_->door());
  if (tls_ != nullptr) loop_.ReplaceSink(relay_->tls_door(), tls_);
  relay_->ServeHere();
}

void RelayService::Close() {
  if (relay_) relay_->Close();
  if (probe_) probe_->SetLeader(std::nullopt);
}

void RelayService::Apply(const Config& config) {
  if (relay_) relay_->set_connections_max(static_cast<std::size_t>(config.max_clients));
}

}  // namespace fairlock::server
