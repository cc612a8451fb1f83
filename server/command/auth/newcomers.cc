#include "server/command/auth/newcomers.h"

#include <algorithm>
#include <string>

#include "server/command/client/client.h"
#include "server/command/environment/environment.h"
#include "server/command/statistics/statistics.h"

namespace fairlock::command {

using protocol::ErrorCode;

namespace {

bool IsBeingCompared(const Client& client) { return client.wait.kind() == WaitKind::kLogIn; }

}  // namespace

void Newcomers::Add(Client& client, engine::TimeMs now) {
  if (places_.contains(&client)) return;
  clients_.push_back({&client, now});
  places_.emplace(&client, std::prev(clients_.end()));
  are_all_compared_ = false;
}

void Newcomers::Remove(Client& client) {
  const auto found = places_.find(&client);
  if (found == places_.end()) return;
  clients_.erase(found->second);
  places_.erase(found);
  are_all_compared_ = false;
}

engine::TimeMs Newcomers::NextDeadline() const {
  if (clients_.empty()) return engine::kNever;
  if (IsOneToClose()) return 0;
  if (limits_.time_ms_max == 0) return engine::kNever;
  return clients_.front().since + limits_.time_ms_max;
}

void Newcomers::CloseDue(engine::TimeMs now) {
  if (limits_.time_ms_max != 0) CloseSlow(now);
  if (IsOneToClose()) CloseOldest(now);
}

void Newcomers::CloseSlow(engine::TimeMs now) {
  while (!clients_.empty() && clients_.front().since + limits_.time_ms_max <= now) {
    Newcomer& slow = clients_.front();
    if (IsBeingCompared(*slow.client)) {
      // A slow comparison is not the client's fault, so its time limit starts over.
      slow.since = now;
      clients_.splice(clients_.end(), clients_, clients_.begin());
      continue;
    }
    Client& client = *slow.client;
    Remove(client);
    ++statistics_.counters.closed_without_log_in;
    log_.LogClosedNewcomer(ClosedNewcomer::kTooSlow, client.profile.address.peer, now);
    client.EndWith(ErrorCode::kNoAuth,
                   "no log-in within " + std::to_string(limits_.time_ms_max) +
                       " ms (unauthenticated_timeout); send AUTH within that time",
                   statistics_.commands);
  }
}

bool Newcomers::GiveWay(engine::TimeMs now) {
  const auto oldest = std::ranges::find_if(
      clients_, [](const Newcomer& newcomer) { return !IsBeingCompared(*newcomer.client); });
  if (oldest == clients_.end()) return false;
  Client& client = *oldest->client;
  Remove(client);
  ++statistics_.counters.closed_without_log_in;
  log_.LogClosedNewcomer(ClosedNewcomer::kInTheWay, client.profile.address.peer, now);
  client.EndWith(ErrorCode::kFull,
                 "max number of clients reached (max_clients), and this connection has not logged "
                 "in for longer than any other; send AUTH right after connecting",
                 statistics_.commands);
  return true;
}

void Newcomers::CloseOldest(engine::TimeMs now) {
  for (auto at = clients_.begin(); at != clients_.end() && AreTooMany();) {
    Client& client = *at->client;
    ++at;
    if (IsBeingCompared(client)) continue;
    Remove(client);
    ++statistics_.counters.closed_without_log_in;
    log_.LogClosedNewcomer(ClosedNewcomer::kOneTooMany, client.profile.address.peer, now);
    client.EndWith(ErrorCode::kFull,
                   "more than " + std::to_string(limits_.count_max) +
                       " connections have not logged in (max_unauthenticated_clients), and this "
                       "one has waited longest; send AUTH right after connecting",
                   statistics_.commands);
  }
  are_all_compared_ = AreTooMany();
}

}  // namespace fairlock::command
