#include "server/net/relay/leader_probe.h"

#include <utility>

#include "server/net/clock.h"

namespace fairlock::net {

LeaderProbe::LeaderProbe(boost::asio::io_context& io, std::function<void()> on_refused)
    : io_(io),
      on_refused_(std::move(on_refused)),
      route_(io, [this] { Probe(); }),
      alarm_(io, [this] {
        route_.Retry(BoottimeMs());
        Probe();
      }) {}

void LeaderProbe::SetLeader(std::optional<LeaderAddress> leader) {
  AssertInLoop();
  EndDial();
  alarm_.Cancel();
  has_accepted_ = false;
  is_silent_ = false;
  route_.Set(std::move(leader));
  if (route_.leader()) alarm_.Set(kFirstEveryMs);
}

void LeaderProbe::SetSilent(bool is_silent) {
  is_silent_ = is_silent;
  if (is_silent) Probe();
}

void LeaderProbe::Probe() {
  AssertInLoop();
  if (!route_.leader() || (has_accepted_ && !is_silent_)) return;
  alarm_.Cancel();
  alarm_.Set(is_silent_ ? kEveryMs : kFirstEveryMs);
  EndDial();
  const LeaderAddress& leader = *route_.leader();
  const std::uint16_t port = leader.port != 0 ? leader.port : leader.tls_port;
  if (port == 0 || !route_.IsOpen(BoottimeMs())) return;
  dial_ = Dial::Start(io_, route_.EndpointsOf(port), {},
                      [this](const DialOutcome& outcome) { OnOutcome(outcome); });
}

void LeaderProbe::OnOutcome(const DialOutcome& outcome) {
  if (outcome.socket.is_open()) has_accepted_ = true;
  if (outcome.is_refused && has_accepted_ && is_silent_) on_refused_();
}

void LeaderProbe::EndDial() {
  if (dial_ != nullptr) dial_->Cancel();
  dial_ = nullptr;
}

}  // namespace fairlock::net
