// Handles MULTI, EXEC and WATCH: queues requests, and discards them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/arguments.h"
#include "protocol/reply_writer.h"
#include "server/command/client/client.h"
#include "server/command/client/transaction.h"
#include "server/command/locks/availability.h"
#include "server/command/transactions/watched_keys.h"

namespace fairlock::command {

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
