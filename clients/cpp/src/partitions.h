// The connections to the leaders of a fleet of several partitions.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <map>
#include <memory>
#include <string>

#include "dialer.h"
#include "servers.h"
#include "slots.h"
#include "topology.h"

namespace fairlock::client {

// A connection is made when the first request is sent to its partition. The slots of a partition
// never change, but its leader does. For each slot in use, the connection is subscribed to one
// channel, because the server demands that the channel and the key have the same slot.
class Partitions final : public Servers {
 public:
  Partitions(boost::asio::io_context& io, Settings settings, const std::string& id,
             Listener listener);

  boost::asio::awaitable<void> AwaitConnection(const std::string& key, Duration limit) override;
  boost::asio::awaitable<Answer> Ask(const std::string& key, Command command,
                                     Duration limit) override;
  [[nodiscard]] std::string Channel(const std::string& key) const override;
  void Listen(const std::string& key) override;
  void Unlisten(const std::string& key) override;

 private:
  struct Partition;
  struct Slot {
    std::string channel;
    int listeners = 0;
  };

  // Null until a node has named the leader of the slot's partition.
  [[nodiscard]] Partition* Find(int slot) const;
  boost::asio::awaitable<Partition*> Learn(int slot, Duration limit);
  void Add(SlotRange slots);

  boost::asio::io_context& io_;
  const std::string id_;
  const Listener listener_;
  Dialer dialer_;
  Topology topology_;
  std::map<int, Slot> slots_;                             // the slots in use
  std::map<int, std::shared_ptr<Partition>> partitions_;  // the partitions by their last slot
};

}  // namespace fairlock::client
