#include "server/services/sentinel_service.h"

#include <utility>

#include "server/net/sockets/listening_socket.h"

namespace fairlock::server {

namespace {

constexpr engine::DurationMs kLookEveryMs = 100;

net::ListenOptions SentinelListenOptions(const Config& config) {
  return {.bind = config.bind,
          .port = static_cast<std::uint16_t>(config.sentinel_port),
          .unix_path = "",
          .port_option = "--sentinel-port"};
}

}  // namespace

SentinelService::SentinelService(net::TurnLoop& loop, Log& log)
    : loop_(loop), log_(log), look_(loop.io_context(), [this] { LookAtLeader(); }) {}

std::string SentinelService::Start(const Config& config) {
  const command::Fleet* const fleet = loop_.turn().server.environment.fleet;
  if (fleet == nullptr || config.sentinel_port == 0) return "";
  net::ListenResult listening = net::Listen(SentinelListenOptions(config));
  if (!listening.error.empty()) return listening.error;
  for (const net::ListeningSocket& socket : listening.sockets) {
    log_.Info("Sentinel on {}", socket.name);
  }
  watch_.emplace(*fleet);
  connections_.emplace(loop_, *watch_, kConnectionsMax);
  loop_.StartListening(std::move(listening.sockets), &*connections_);
  LookAtLeader();
  return "";
}

void SentinelService::LookAtLeader() {
  AssertInLoop();
  for (const sentinel::Message& message : watch_->Look()) connections_->Publish(message);
  look_.Set(kLookEveryMs);
}

void SentinelService::Close() {
  look_.Cancel();
  if (connections_) connections_->Close();
}

}  // namespace fairlock::server
