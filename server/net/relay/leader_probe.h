// Finds out whether the process of a silent leader is gone.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "server/net/relay/alarm.h"
#include "server/net/relay/dial.h"
#include "server/net/relay/leader_address.h"
#include "server/net/relay/leader_route.h"

namespace fairlock::net {

// Connects to the leader's port once, to learn that the address is right and that no firewall
// answers in its place, and again and again while the leader is silent. Only a refusal by a port
// that accepted before is reported; a host that does not answer proves nothing. Loop-confined.
class LeaderProbe {
 public:
  static constexpr engine::DurationMs kEveryMs = 200;         // while the leader is silent
  static constexpr engine::DurationMs kFirstEveryMs = 1'000;  // until the port has accepted

  LeaderProbe(boost::asio::io_context& io, std::function<void()> on_refused);
  LeaderProbe(const LeaderProbe&) = delete;
  LeaderProbe& operator=(const LeaderProbe&) = delete;
  ~LeaderProbe() { EndDial(); }

  // Another leader; none: no leader is known.
  void SetLeader(std::optional<LeaderAddress> leader);
  void SetSilent(bool is_silent);

 private:
  void Probe();
  void OnOutcome(const DialOutcome& outcome);
  void EndDial();

  boost::asio::io_context& io_;
  const std::function<void()> on_refused_;
  LeaderRoute route_;
  Alarm alarm_;
  std::shared_ptr<Dial> dial_;
  bool has_accepted_ = false;
  bool is_silent_ = false;
};

}  // namespace fairlock::net
