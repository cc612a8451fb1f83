#include "server/command/execution/client_lifecycle.h"

#include <utility>

namespace fairlock::command {

void ClientLifecycle::Register(Client& client) {
  parts_.clients.Add(client);
  parts_.sessions.LogOut(client);
}

void ClientLifecycle::Detach(Client& client, engine::TimeMs now) {
  if (std::exchange(client.is_detached, true)) return;
  client.wait.End(parts_.statistics.gauges);
  parts_.lists.Detach(client);
  parts_.flushes.Detach(client);
  parts_.channels.UnsubscribeFromAll(client);
  // Must come before grants are undone: if this was the last subscriber of a channel, a waiting
  // request that would be announced there must not be granted again.
  parts_.notifier.FollowSubscribers(now);
  parts_.monitors.Remove(client);
  parts_.newcomers.Remove(client);
  parts_.transactions.Drop(client);
  UndoUnsentGrants(client, now);
  parts_.locks.engine().sessions().Detach(client, parts_.locks.StepAt(now));
  parts_.delivery.Deliver(now);
  parts_.clients.Remove(client);
}

void ClientLifecycle::UndoUnsentGrants(Client& client, engine::TimeMs now) {
  // Loops by index, because undoing a grant may grant the lock to another owner for whom this
  // client waited, which appends to the list.
  for (std::size_t i = 0; i < client.grants.all().size(); ++i) {
    const UnsentGrant grant = client.grants.all()[i];
    if (grant.is_shared && parts_.grants.IsElsewhere(grant.token, client.grants)) continue;
    parts_.locks.engine().sessions().UndoGrant(grant.key_hash, grant.token,
                                               parts_.locks.StepAt(now));
    parts_.delivery.Deliver(now);
  }
  client.grants.ForgetAll();
}

void ClientLifecycle::Reset(Client& client, engine::TimeMs now) {
  parts_.transactions.Drop(client);
  parts_.channels.UnsubscribeFromAll(client);
  // Ends holds with SESSION, as the end of the connection does.
  parts_.locks.engine().sessions().Detach(client, parts_.locks.StepAt(now));
  parts_.monitors.Remove(client);
  client.profile.version = protocol::RespVersion::kResp2;
  client.profile.database = 0;
  parts_.clients.Rename(client, "");
  if (client.rights.user() != &parts_.own_user) parts_.sessions.LogOut(client);
}

}  // namespace fairlock::command
