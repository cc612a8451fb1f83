// Finds the connected clients by their ids.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "server/command/client/client.h"
#include "server/command/statistics/statistics.h"
#include "server/engine/lock_engine.h"

namespace fairlock::command {

// Loop-confined.
class ClientRegistry {
 public:
  ClientRegistry(engine::LockEngine& engine, ServerCounters& counters)
      : engine_(engine), counters_(counters) {}

  // Gives the client its id. Ids increase and are never reused.
  void Add(Client& client);
  void Remove(Client& client);
  void Rename(Client& client, std::string_view name);

  // Returns null if no client has that id.
  Client* Find(std::uint64_t id) const;
  const std::map<std::uint64_t, Client*>& all() const { return clients_; }
  std::size_t size() const { return clients_.size(); }

 private:
  engine::LockEngine& engine_;
  ServerCounters& counters_;
  std::map<std::uint64_t, Client*> clients_;
  std::uint64_t next_id_ = 1;
};

}  // namespace fairlock::command
