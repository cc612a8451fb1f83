#include "cli/views/server_locks.h"

#include <algorithm>

#include "cli/connection/reply_fields.h"
#include "cli/views/lock_walk.h"

namespace fairlock::cli {

namespace {

constexpr std::string_view kPlacesRead = "200";
// Bounds the time that the server spends on one chain.
constexpr int kPagesOfAChain = 100;

FleetLeaders LeadersOrServer(Client& client, const Settings& settings, const Login& login) {
  Result<FleetLeaders> leaders = FleetLeaders::Find(client, settings, login);
  return leaders ? std::move(*leaders) : FleetLeaders(client);
}

}  // namespace

ServerLocks::ServerLocks(Client& client, const Settings& settings, const Login& login, int database)
    : client_(client),
      leaders_(LeadersOrServer(client, settings, login)),
      database_(database),
      pages_left_(kPagesOfAChain) {}

protocol::Reply ServerLocks::Ask(std::initializer_list<std::string_view> request) {
  if (is_refused_) return {};
  Result<protocol::Reply> reply = client_.Ask(request);
  if (reply) return std::move(*reply);
  is_refused_ = true;
  failure_ = reply.failure();
  return {};
}

LockView ServerLocks::Lock(const std::string& key) {
  const auto [lock, is_new] = locks_.try_emplace(key);
  if (is_new) lock->second = ReadLock(Ask({"LOCKINFO", key}));
  return lock->second;
}

std::vector<PlaceView> ServerLocks::Queue(const std::string& key) {
  const auto [queue, is_new] = queues_.try_emplace(key);
  if (!is_new) return queue->second;
  const protocol::Reply places = Ask({"QUEUE", key, "COUNT", kPlacesRead});
  for (const protocol::Reply& place : places.elements) queue->second.push_back(ReadPlace(place));
  return queue->second;
}

std::vector<std::string> ServerLocks::QueuesOf(const std::string& owner) {
  const auto [keys, is_new] = queues_of_.try_emplace(owner);
  if (!is_new || failure_) return keys->second;
  LockWalk walk(leaders_, {.database = database_, .waiting_ms_min = 0, .owner = owner});
  while (!walk.is_over()) {
    if (pages_left_-- == 0) {
      failure_ = {kExitRefused, "too many locks are waited for"};
      break;
    }
    const Result<std::vector<LockRow>> page = walk.NextPage();
    if (!page) {
      is_refused_ = true;
      failure_ = page.failure();
      break;
    }
    for (const LockRow& row : *page) keys->second.push_back(row.key());
  }
  std::ranges::sort(keys->second);
  keys->second.erase(std::unique(keys->second.begin(), keys->second.end()), keys->second.end());
  return keys->second;
}

// An override that an operator has set is in the list.
bool ServerLocks::IsStarting() {
  const protocol::Reply overrides = Ask({"LIMIT", "LIST"});
  return !is_refused_ && std::ranges::none_of(overrides.elements, [](const protocol::Reply& each) {
    return IntegerOr(each, "limit") == 0;
  });
}

WaitChain FindBlockers(const WaitingRequest& request, Client& client, const Settings& settings,
                       const Login& login) {
  ServerLocks locks(client, settings, login, settings.database_or_first());
  return FindChain(request, locks);
}

}  // namespace fairlock::cli
