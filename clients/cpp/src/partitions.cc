#include "partitions.h"

#include <utility>

namespace fairlock::client {

namespace asio = boost::asio;
using asio::awaitable;

namespace {

// How many times a request is sent on to the node that another node names.
constexpr int kMovesMax = 5;

}  // namespace

struct Partitions::Partition {
  Partition(asio::io_context& io, Dialer& dialer, Topology& topology, SlotRange its_slots,
            Listener listener)
      : slots(its_slots),
        link(io, dialer, std::make_unique<LeaderFinder>(topology, its_slots.first),
             std::move(listener)) {}

  const SlotRange slots;
  Link link;
  int listeners = 0;
};

Partitions::Partitions(asio::io_context& io, Settings settings, const std::string& id,
                       Listener listener)
    : io_(io),
      id_(id),
      listener_(std::move(listener)),
      dialer_(io, std::move(settings)),
      topology_(io, dialer_) {}

Partitions::Partition* Partitions::Find(int slot) const {
  const auto found = partitions_.lower_bound(slot);
  const bool is_known = found != partitions_.end() && found->second->slots.Contains(slot);
  return is_known ? found->second.get() : nullptr;
}

awaitable<Partitions::Partition*> Partitions::Learn(int slot, Duration limit) {
  if (!topology_.PartitionOf(slot)) co_await topology_.Refresh(limit);
  const auto slots = topology_.PartitionOf(slot);
  if (!slots) throw Temporary("no node leads the partition of slot " + std::to_string(slot));
  if (Find(slot) == nullptr) Add(*slots);  // another request may have added it meanwhile
  co_return Find(slot);
}

void Partitions::Add(SlotRange slots) {
  const auto listener = [this, slots](const Message& message) {
    Message same = message;
    same.slots = slots;
    listener_(same);
  };
  const auto partition = std::make_shared<Partition>(io_, dialer_, topology_, slots, listener);
  partitions_[slots.last] = partition;
  for (const auto& [number, slot] : slots_) {
    if (!slots.Contains(number)) continue;
    partition->link.Subscribe(slot.channel);
    partition->listeners += slot.listeners;
  }
  partition->link.SetListening(partition->listeners > 0);
}

awaitable<void> Partitions::AwaitConnection(const std::string& key, Duration limit) {
  const int slot = SlotOf(key);
  Partition* partition = Find(slot);
  if (partition == nullptr) partition = co_await Learn(slot, limit);
  co_await partition->link.AwaitConnection(limit);
}

awaitable<Answer> Partitions::Ask(const std::string& key, Command command, Duration limit) {
  const int slot = SlotOf(key);
  Partition* partition = Find(slot);
  if (partition == nullptr) partition = co_await Learn(slot, limit);
  for (int moves = 0; moves < kMovesMax; ++moves) {
    try {
      co_return co_await partition->link.Ask(command, limit);
    } catch (const Moved&) {  // which was not executed
    }
  }
  co_return co_await partition->link.Ask(std::move(command), limit);
}

std::string Partitions::Channel(const std::string& key) const {
  const auto found = slots_.find(SlotOf(key));
  return found != slots_.end() ? found->second.channel : ChannelFor(key, id_);
}

void Partitions::Listen(const std::string& key) {
  const int number = SlotOf(key);
  Slot& slot = slots_[number];
  if (++slot.listeners == 1) slot.channel = ChannelFor(key, id_);
  Partition* const partition = Find(number);
  if (partition == nullptr) return;
  partition->link.Subscribe(slot.channel);
  partition->link.SetListening(++partition->listeners > 0);
}

void Partitions::Unlisten(const std::string& key) {
  const int number = SlotOf(key);
  const auto slot = slots_.find(number);
  Partition* const partition = Find(number);
  const bool is_last = --slot->second.listeners == 0;
  if (partition != nullptr) {
    if (is_last) partition->link.Unsubscribe(slot->second.channel);
    partition->link.SetListening(--partition->listeners > 0);
  }
  if (is_last) slots_.erase(slot);
}

}  // namespace fairlock::client
