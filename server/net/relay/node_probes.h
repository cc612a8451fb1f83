// Finds out which nodes of a fleet accept connections at the address that they announce.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "contracts/loop_confined.h"
#include "server/net/relay/alarm.h"
#include "server/net/relay/dial.h"
#include "server/net/relay/leader_route.h"

namespace fairlock::net {

// Connects to each node when it becomes known, and every kEveryMs from then on; closes the
// connection as soon as it is accepted.
class NodeProbes : contracts::LoopConfined {
 public:
  // An attempt that is not accepted before the next one has failed.
  static constexpr engine::DurationMs kEveryMs = 2'000;

  // By the names of the nodes; none: what the node announces is not an address.
  using Nodes = std::map<std::string, std::optional<LeaderAddress>>;

  // `on_change` is called when the result for a node has changed.
  NodeProbes(boost::asio::io_context& io, std::function<void()> on_change);
  NodeProbes(const NodeProbes&) = delete;
  NodeProbes& operator=(const NodeProbes&) = delete;
  ~NodeProbes();

  // Probes these nodes from now on, and no others.
  void SetNodes(const Nodes& nodes);
  // The names of the nodes that did not accept the last connection, or none yet; in order.
  std::vector<std::string> Unreached() const;

 private:
  struct Node {
    Node(boost::asio::io_context& io, std::function<void()> on_open)
        : route(io, std::move(on_open)) {}

    std::optional<LeaderAddress> address;
    LeaderRoute route;
    std::shared_ptr<Dial> dial;
    bool is_answered = false;  // the current attempt
    bool has_accepted = false;
  };

  void Probe(Node& node);
  void Connect(Node& node);
  void Note(Node& node, bool has_accepted);
  void ProbeAll();
  static void End(Node& node);

  boost::asio::io_context& io_;
  const std::function<void()> on_change_;
  std::map<std::string, std::unique_ptr<Node>> nodes_;
  Alarm alarm_;
};

}  // namespace fairlock::net
