// Finds the connected clients by their ids, and warns about durations that some of them send.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "server/command/client/client.h"
#include "server/command/statistics/statistics.h"
#include "server/command/table/duration_text.h"
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

class CommandLog;
struct ClientProfile;

// Warns, once per client library, that durations it sends without a unit look like seconds.
// Loop-confined. Remembers at most kLibrariesMax library names, because clients choose them.
class UnitWarnings {
 public:
  static constexpr std::size_t kLibrariesMax = 100;

  explicit UnitWarnings(CommandLog& log) : log_(log) {}

  // Called when a request gave a lease in seconds and also `duration`, which has no unit.
  void Warn(const ClientProfile& client, std::string_view command, const BareDuration& duration);

 private:
  CommandLog& log_;
  std::set<std::string, std::less<>> warned_;
};

}  // namespace fairlock::command
