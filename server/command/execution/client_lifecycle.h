// What happens when clients connect and disconnect.
#pragma once

#include "server/command/auth/log_ins.h"
#include "server/command/auth/newcomers.h"
#include "server/command/client/client.h"
#include "server/command/client/client_registry.h"
#include "server/command/delivery/effect_delivery.h"
#include "server/command/delivery/flushes.h"
#include "server/command/delivery/list_delivery.h"
#include "server/command/locks/locks.h"
#include "server/command/pubsub/channels.h"
#include "server/command/pubsub/monitors.h"
#include "server/command/pubsub/notifier.h"
#include "server/command/statistics/statistics.h"
#include "server/command/transactions/transactions.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

// Loop-confined.
class ClientLifecycle {
 public:
  struct Parts {
    Locks& locks;
    Statistics& statistics;
    ClientRegistry& clients;
    Channels& channels;
    Notifier& notifier;
    Monitors& monitors;
    Transactions& transactions;
    Newcomers& newcomers;
    Sessions& sessions;
    const GrantsInFlight& grants;
    EffectDelivery& delivery;
    ListDelivery& lists;
    Flushes& flushes;
    const access::User& own_user;
  };

  explicit ClientLifecycle(const Parts& parts) : parts_(parts) {}

  void Register(Client& client);
  // Called when the connection has ended: the client leaves all queues, and grants whose replies
  // were not sent are undone. Idempotent.
  void Detach(Client& client, engine::TimeMs now);
  // Performs RESET: RESP2, database 0, no name, no subscriptions, no monitor, no transaction,
  // logged out.
  void Reset(Client& client, engine::TimeMs now);

 private:
  void UndoUnsentGrants(Client& client, engine::TimeMs now);

  const Parts parts_;
};

}  // namespace fairlock::command
