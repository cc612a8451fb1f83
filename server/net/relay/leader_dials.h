// Makes connections to the leader for clients.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "contracts/loop_confined.h"
#include "server/net/relay/dial.h"
#include "server/net/relay/leader_route.h"
#include "server/net/relay/parked_connections.h"
#include "server/net/sockets/socket_options.h"

namespace fairlock::net {

struct DialHooks {
  std::function<void()> on_open;  // called when a leader can be dialed
  std::function<void(ParkedConnection client, OwnedDescriptor leader)> on_connected;
  std::function<void(ParkedConnection client)> on_failed;
};

class LeaderDials : contracts::LoopConfined {
 public:
  // More dials at the same time would overflow the backlog of a leader that has just taken over.
  static constexpr std::size_t kDialsMax = 64;

  LeaderDials(boost::asio::io_context& io, const SocketOptions& options, DialHooks hooks);

  // Switches to another leader; none: no leader is known. May call `on_open`.
  // REQUIRES: all clients were taken back.
  void SetLeader(std::optional<LeaderAddress> leader) { route_.Set(std::move(leader)); }
  const std::optional<LeaderAddress>& leader() const { return route_.leader(); }
  // Resolves the leader's host again if that has failed.
  void Retry(engine::TimeMs now) { route_.Retry(now); }

  bool CanDial(engine::TimeMs now) const;
  // REQUIRES: CanDial, and the leader has such a port.
  void DialFor(ParkedConnection client);
  // Ends all dials and returns their clients.
  std::vector<ParkedConnection> TakeBackAll();
  std::vector<ParkedConnection> TakeBackOverdue(engine::TimeMs now);

  std::size_t count() const { return dialing_.size(); }

 private:
  struct Dialing {
    ParkedConnection client;
    std::shared_ptr<Dial> dial;
  };

  void OnOutcome(std::list<Dialing>::iterator dialing, DialOutcome outcome);
  ParkedConnection TakeBack(std::list<Dialing>::iterator dialing);

  boost::asio::io_context& io_;
  const SocketOptions options_;
  const DialHooks hooks_;
  LeaderRoute route_;
  std::list<Dialing> dialing_;
};

}  // namespace fairlock::net
