// FLUSHDB and FLUSHALL of many keys, in steps between which other requests are served.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "server/command/client/client.h"
#include "server/command/delivery/effect_delivery.h"
#include "server/command/locks/locks.h"
#include "server/command/statistics/statistics.h"
#include "server/command/values/values.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

// The client waits until its flush has ended. If its connection closes before, the flush stops.
// Loop-confined.
class Flushes {
 public:
  // The number of locks and values up to which a flush is one step.
  static constexpr std::size_t kKeysAtOnce = 1000;

  Flushes(Locks& locks, Values& values, EffectDelivery& delivery, Statistics& statistics)
      : locks_(locks), values_(values), delivery_(delivery), statistics_(statistics) {}

  // Whether that database, or all of them, have more keys than fit into one step.
  bool IsLong(std::optional<std::uint8_t> db) const;
  // Ends all locks and values in one step.
  void FlushAtOnce(Client& client, std::optional<std::uint8_t> db, engine::TimeMs now);
  // Lets the client wait until all have ended.
  void Begin(Client& client, std::optional<std::uint8_t> db);
  // Performs the next step of the flush that began first. True: more is left.
  bool Advance(engine::TimeMs now);
  bool empty() const { return flushes_.empty(); }
  // Called when the connection has ended.
  void Detach(const Client& client);

 private:
  struct Flush {
    Client* client;
    std::optional<std::uint8_t> db;
    std::uint64_t cursor = 0;
    bool is_at_values = false;  // the locks come first
  };

  // Returns whether the flush has ended.
  bool TakeStep(Flush& flush, std::size_t keys_max, engine::TimeMs now);

  Locks& locks_;
  Values& values_;
  EffectDelivery& delivery_;
  Statistics& statistics_;
  std::deque<Flush> flushes_;
};

}  // namespace fairlock::command
