// Finds out whether the process of a leader that has fallen silent is gone.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "contracts/loop_confined.h"
#include "server/net/relay/alarm.h"
#include "server/net/relay/dial.h"
#include "server/net/relay/leader_route.h"

namespace fairlock::net {

// Connects to the leader's port until it has accepted once, which shows that the address is right
// and that no firewall answers in the leader's place. Then connects repeatedly while the leader is
// silent. Reports only a refusal by a port that accepted before; a host that does not answer proves
// nothing.
class LeaderProbe : contracts::LoopConfined {
 public:
  static constexpr engine::DurationMs kEveryMs = 200;         // while the leader is silent
  static constexpr engine::DurationMs kFirstEveryMs = 1'000;  // until the port has accepted

  LeaderProbe(boost::asio::io_context& io, std::function<void()> on_refused);
  LeaderProbe(const LeaderProbe&) = delete;
  LeaderProbe& operator=(const LeaderProbe&) = delete;
  ~LeaderProbe() { EndDial(); }

  // Switches to another leader; none: no leader is known.
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
