// Handles MULTI, EXEC and WATCH: queues requests, and discards them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "protocol/arguments.h"
#include "protocol/reply_writer.h"
#include "server/command/client/client.h"
#include "server/command/client/transaction.h"
#include "server/command/locks/availability.h"
#include "server/engine/api/event.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

class Locks;

// Counts the changes to the keys that clients watch. Counts changes of holders once for each
// watched key, however many clients watch it. Listens to the engine only while some key is watched.
// Changed ends of leases are not counted: HasChanged compares the ends. Loop-confined.
class WatchedKeys final : public engine::EventSink {
 public:
  explicit WatchedKeys(Locks& locks) : locks_(locks) {}
  WatchedKeys(const WatchedKeys&) = delete;
  WatchedKeys& operator=(const WatchedKeys&) = delete;

  Watch Begin(const engine::KeyName& key, engine::TimeMs now);
  // Must be called for each watch that Begin returned.
  void End(const Watch& watch);
  // Whether holders, tokens or lease ends have changed. Expires overdue holds first.
  bool HasChanged(const Watch& watch, engine::TimeMs now);

  // Counts a change of a small value. The hash is the engine's.
  void CountChange(std::uint64_t key_hash);

  void Take(const engine::Event& event) override;

 private:
  struct Entry {
    std::uint64_t changes = 0;
    std::size_t watches = 0;
  };

  Locks& locks_;
  // By the hash of the key. The only effect of a hash collision is that a change is reported that
  // did not happen.
  std::unordered_map<std::uint64_t, Entry> entries_;
};

// Loop-confined.
class Transactions {
 public:
  Transactions(WatchedKeys& watched_keys, const Availability& availability)
      : watched_keys_(watched_keys), availability_(availability) {}

  // Returns true if the client is between MULTI and EXEC; the request has then been queued or
  // refused. `row` and `flags` are those of its command.
  bool Collect(Client& client, std::size_t row, std::uint32_t flags,
               const protocol::Arguments& arguments, protocol::ReplyWriter& reply) const;
  // Called when a request was refused. If that was between MULTI and EXEC, EXEC will execute
  // nothing.
  static void Spoil(const Client& client);

  // Whether the client is between MULTI and EXEC.
  static bool IsCollecting(const Client& client) {
    return client.transaction != nullptr && client.transaction->is_open();
  }

  void EndWatches(Client& client);
  void Drop(Client& client);

  void set_limits(const TransactionLimits& limits) { limits_ = limits; }
  // While memory is short, one connection may queue and watch less than usual.
  TransactionLimits LimitsNow() const;

 private:
  WatchedKeys& watched_keys_;
  const Availability& availability_;
  TransactionLimits limits_;
};

}  // namespace fairlock::command
