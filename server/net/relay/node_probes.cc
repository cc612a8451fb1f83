#include "server/net/relay/node_probes.h"

#include <utility>

namespace fairlock::net {

NodeProbes::NodeProbes(boost::asio::io_context& io, std::function<void()> on_change)
    : io_(io), on_change_(std::move(on_change)), alarm_(io, [this] { ProbeAll(); }) {}

NodeProbes::~NodeProbes() {
  for (const auto& [name, node] : nodes_) End(*node);
}

void NodeProbes::SetNodes(const Nodes& nodes) {
  AssertInLoop();
  std::erase_if(nodes_, [&](const auto& entry) {
    const auto found = nodes.find(entry.first);
    const bool remains = found != nodes.end() && found->second == entry.second->address;
    if (!remains) End(*entry.second);
    return !remains;
  });
  for (const auto& [name, address] : nodes) {
    if (nodes_.contains(name)) continue;
    auto node = std::make_unique<Node>(io_, [this, name = name] { Connect(*nodes_.at(name)); });
    node->address = address;
    Probe(*nodes_.emplace(name, std::move(node)).first->second);
  }
  if (!nodes_.empty()) alarm_.Set(kEveryMs);
}

std::vector<std::string> NodeProbes::Unreached() const {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_) {
    if (!node->has_accepted) names.push_back(name);
  }
  return names;
}

// The host is resolved each time, because its addresses may change.
void NodeProbes::Probe(Node& node) {
  End(node);
  node.is_answered = false;
  node.route.Set(node.address);
}

void NodeProbes::Connect(Node& node) {
  const std::uint16_t port = node.address->port != 0 ? node.address->port : node.address->tls_port;
  if (port == 0) return;
  node.dial =
      Dial::Start(io_, node.route.EndpointsOf(port), {}, [this, &node](const DialOutcome& outcome) {
        node.is_answered = true;
        Note(node, outcome.socket.is_open());
      });
}

void NodeProbes::Note(Node& node, bool has_accepted) {
  if (std::exchange(node.has_accepted, has_accepted) != has_accepted) on_change_();
}

void NodeProbes::ProbeAll() {
  AssertInLoop();
  for (const auto& [name, node] : nodes_) {
    if (!node->is_answered) Note(*node, false);
    Probe(*node);
  }
  if (!nodes_.empty()) alarm_.Set(kEveryMs);
}

void NodeProbes::End(Node& node) {
  if (node.dial != nullptr) node.dial->Cancel();
  node.dial = nullptr;
}

}  // namespace fairlock::net
