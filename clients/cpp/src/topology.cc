#include "topology.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <string>
#include <utility>

namespace fairlock::client {

namespace asio = boost::asio;
using asio::awaitable;

namespace {

// The first two items of a node in the reply to CLUSTER SLOTS.
Address ParseNode(const Value& node, const Address& from) {
  if (node.items.size() < 2) return {};
  const auto& host = node.items[0].text;
  return {host.empty() ? from.host : host, std::to_string(node.items[1].integer)};
}

}  // namespace

Topology::Topology(asio::io_context& io, Dialer& dialer)
    : io_(io),
      dialer_(dialer),
      seeds_(ParseAddresses(dialer.settings().addresses, kPort)),
      nodes_(seeds_),
      news_(io) {}

awaitable<void> Topology::Refresh(Duration limit) {
  if (!std::exchange(is_running_, true)) asio::co_spawn(io_, Run(), asio::detached);
  co_await news_.Await(limit);
}

awaitable<void> Topology::Run() {
  co_await asio::post(io_, asio::use_awaitable);  // the caller waits by now
  Failures failures;
  const Command question{"CLUSTER", "SLOTS"};
  bool is_answered = false;
  for (std::size_t i = 0; i < nodes_.size() && !is_answered; ++i) {
    const Address node = nodes_[std::exchange(next_, (next_ + 1) % nodes_.size())];
    try {
      const auto opened = co_await dialer_.Open(node, Dialer::Peer::kServer, question);
      opened.stream->Close();
      Take(opened.reply, node);
      is_answered = true;
    } catch (const Error&) {
      failures.AddCurrent();
    }
  }
  is_running_ = false;
  news_.Set(is_answered ? nullptr : failures.reported());
}

// A list of slots: the first, the last, the leader and the standbys.
void Topology::Take(const Value& reply, const Address& from) {
  Partitions partitions;
  std::vector<Address> nodes = seeds_;
  for (const Value& item : reply.items) {
    if (item.items.size() < 3) continue;
    const SlotRange slots{static_cast<int>(item.items[0].integer),
                          static_cast<int>(item.items[1].integer)};
    partitions[slots.last] = {slots, ParseNode(item.items[2], from)};
    for (auto node = item.items.begin() + 2; node != item.items.end(); ++node) {
      auto address = ParseNode(*node, from);
      if (std::find(nodes.begin(), nodes.end(), address) == nodes.end()) {
        nodes.push_back(std::move(address));
      }
    }
  }
  if (partitions.empty()) throw Temporary(NameOf(from) + ": no partition has a leader");
  partitions_ = std::move(partitions);
  nodes_ = std::move(nodes);
  next_ %= nodes_.size();
  ++version_;
}

void Topology::Follow(const Moved& moved) {
  const auto found = partitions_.lower_bound(moved.slot());
  if (found == partitions_.end() || moved.address().host.empty()) return;
  found->second.leader = moved.address();
  ++version_;
}

const Topology::Partition* Topology::Find(int slot) const {
  const auto found = partitions_.lower_bound(slot);
  const bool is_known = found != partitions_.end() && found->second.slots.Contains(slot);
  return is_known ? &found->second : nullptr;
}

std::optional<SlotRange> Topology::PartitionOf(int slot) const {
  const auto* partition = Find(slot);
  return partition != nullptr ? std::optional(partition->slots) : std::nullopt;
}

std::optional<Address> Topology::LeaderOf(int slot) const {
  const auto* partition = Find(slot);
  return partition != nullptr ? std::optional(partition->leader) : std::nullopt;
}

// After a failure, the leader may be another one than the nodes named before.
awaitable<Address> LeaderFinder::Next() {
  if (tried_ == topology_.version()) co_await topology_.Refresh(kForever);
  tried_ = topology_.version();
  const auto leader = topology_.LeaderOf(slot_);
  if (!leader) throw Temporary("no node leads the partition of slot " + std::to_string(slot_));
  co_return *leader;
}

bool LeaderFinder::MayMove(const Temporary& failure) {
  if (const auto* moved = dynamic_cast<const Moved*>(&failure)) topology_.Follow(*moved);
  return true;
}

}  // namespace fairlock::client
