// The partitions of a fleet and their leaders, as its nodes report them.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "dialer.h"
#include "failures.h"
#include "finder.h"
#include "readiness.h"
#include "slots.h"

namespace fairlock::client {

// Loop-confined.
class Topology {
 public:
  // Throws Refused if the addresses of the settings cannot be used.
  Topology(boost::asio::io_context& io, Dialer& dialer);

  // Asks the nodes in turn until one replies. Several callers wait for the same reply.
  boost::asio::awaitable<void> Refresh(Duration limit);

  // A node that does not serve a slot has named the one that does.
  void Follow(const Moved& moved);

  // The slots of the partition that serves the slot; none if it had no leader.
  [[nodiscard]] std::optional<SlotRange> PartitionOf(int slot) const;
  [[nodiscard]] std::optional<Address> LeaderOf(int slot) const;

  // Increases whenever leaders were named.
  [[nodiscard]] int version() const { return version_; }

 private:
  struct Partition {
    SlotRange slots;
    Address leader;
  };
  using Partitions = std::map<int, Partition>;  // the partitions by their last slot

  boost::asio::awaitable<void> Run();
  void Take(const Value& reply, const Address& from);
  [[nodiscard]] const Partition* Find(int slot) const;

  boost::asio::io_context& io_;
  Dialer& dialer_;
  const std::vector<Address> seeds_;  // the addresses of the settings
  std::vector<Address> nodes_;        // the seeds and all that a node has named
  std::size_t next_ = 0;              // the node that is asked next
  Partitions partitions_;
  int version_ = 0;
  bool is_running_ = false;
  Readiness news_;
};

// Finds the leader of one partition.
class LeaderFinder final : public Finder {
 public:
  LeaderFinder(Topology& topology, int slot) : topology_(topology), slot_(slot) {}

  // Returns the leader that is known, and at the next call the one that a node reports.
  [[nodiscard]] std::size_t Tries() const override { return 2; }
  boost::asio::awaitable<Address> Next() override;
  bool MayMove(const Temporary& failure) override;

 private:
  Topology& topology_;
  const int slot_;
  int tried_ = 0;  // the version of the topology
};

}  // namespace fairlock::client
