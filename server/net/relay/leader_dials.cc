#include "server/net/relay/leader_dials.h"

#include <utility>

#include "server/net/clock.h"

namespace fairlock::net {

LeaderDials::LeaderDials(boost::asio::io_context& io, const SocketOptions& options, DialHooks hooks)
    : io_(io), options_(options), hooks_(std::move(hooks)), route_(io, hooks_.on_open) {}

bool LeaderDials::CanDial(engine::TimeMs now) const {
  return route_.IsOpen(now) && dialing_.size() < kDialsMax;
}

void LeaderDials::DialFor(ParkedConnection client) {
  AssertInLoop();
  const std::uint16_t port = client.is_tls ? route_.leader()->tls_port : route_.leader()->port;
  const auto dialing = dialing_.insert(dialing_.end(), {.client = std::move(client), .dial = {}});
  dialing->dial =
      Dial::Start(io_, route_.EndpointsOf(port), options_,
                  [this, dialing](DialOutcome outcome) { OnOutcome(dialing, std::move(outcome)); });
}

void LeaderDials::OnOutcome(std::list<Dialing>::iterator dialing, DialOutcome outcome) {
  AssertInLoop();
  ParkedConnection client = TakeBack(dialing);
  if (outcome.socket.is_open()) {
    return hooks_.on_connected(std::move(client), std::move(outcome.socket));
  }
  route_.Pause(BoottimeMs());
  hooks_.on_failed(std::move(client));
}

ParkedConnection LeaderDials::TakeBack(std::list<Dialing>::iterator dialing) {
  dialing->dial->Cancel();
  ParkedConnection client = std::move(dialing->client);
  dialing_.erase(dialing);
  return client;
}

std::vector<ParkedConnection> LeaderDials::TakeBackAll() {
  std::vector<ParkedConnection> clients;
  while (!dialing_.empty()) clients.push_back(TakeBack(dialing_.begin()));
  return clients;
}

std::vector<ParkedConnection> LeaderDials::TakeBackOverdue(engine::TimeMs now) {
  std::vector<ParkedConnection> clients;
  for (auto next = dialing_.begin(); next != dialing_.end();) {
    const auto one = next++;
    if (one->client.until <= now) clients.push_back(TakeBack(one));
  }
  return clients;
}

}  // namespace fairlock::net
