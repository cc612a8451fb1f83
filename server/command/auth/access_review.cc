#include "server/command/auth/access_review.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "server/command/auth/access_control.h"
#include "server/command/auth/log_ins.h"
#include "server/command/client/client.h"
#include "server/command/client/client_registry.h"
#include "server/command/delivery/effect_delivery.h"
#include "server/command/delivery/list_delivery.h"
#include "server/command/locks/locks.h"
#include "server/command/pubsub/channels.h"
#include "server/command/table/command_table.h"

namespace fairlock::command {

AccessReview::AccessReview(AccessControl& control, Sessions& sessions,
                           const ClientRegistry& clients, const CommandTable& table, Locks& locks,
                           EffectDelivery& delivery, ListDelivery& lists)
    : control_(control),
      sessions_(sessions),
      clients_(clients),
      table_(table),
      locks_(locks),
      delivery_(delivery),
      lists_(lists) {}

void AccessReview::SetUsers(std::shared_ptr<const access::UserTable> users, engine::TimeMs now) {
  // Clients refer to the previous users until they have been reviewed.
  const auto before = control_.Replace(std::move(users));
  ReviewAll(now);
}

void AccessReview::ReviewAll(engine::TimeMs now) {
  // Everything ends in one step, so that ending one place does not grant the lock to another place
  // that is about to end too.
  delivery_.BeginStep(now);
  for (const auto& entry : clients_.all()) ReviewClient(*entry.second, now);
  constexpr std::size_t kLocksAtOnce = 1000;
  const engine::LockFilter with_queue{.wait_ms_min = 0};
  std::vector<Place> ended;
  std::uint64_t cursor = 0;
  do {
    std::vector<std::pair<std::uint8_t, std::string>> keys;
    cursor = locks_.engine().inspection().Scan(
        cursor, kLocksAtOnce, with_queue, now,
        [&](const engine::LockSummary& lock) { keys.emplace_back(lock.key.db, lock.key.bytes); });
    for (const auto& [db, key] : keys) ReviewQueue({db, key}, now, ended);
  } while (cursor != 0);
  for (const Place& place : ended) EndPlace(place, now);
  delivery_.EndStep(now);
  delivery_.Deliver(now);
}

bool AccessReview::ListensTooMuch(const Client& client) const {
  const access::User& user = *client.rights.user();
  const auto hears_too_much = [&](ChannelKind kind) {
    const auto& channels = client.subscriptions->of(kind);
    return std::any_of(channels.begin(), channels.end(), [&](const Channel* channel) {
      return !AccessControl::MayHear(user, kind, channel->name);
    });
  };
  if (client.profile.is_monitor) {
    const std::size_t row = table_.IndexOf("MONITOR");
    const std::array<std::string_view, 1> request = {"MONITOR"};
    if (!control_.Judge(user, row, request).empty()) return true;
  }
  return client.subscriptions != nullptr &&
         (hears_too_much(ChannelKind::kExact) || hears_too_much(ChannelKind::kPattern) ||
          hears_too_much(ChannelKind::kShard));
}

void AccessReview::ReviewClient(Client& client, engine::TimeMs now) {
  if (client.rights.user() == &control_.own_user()) return;
  if (client.rights.user() == nullptr) return sessions_.LogOut(client);
  if (!sessions_.LogInAs(client, client.profile.user)) {
    Sessions::Deauthenticate(client);
  } else if (client.rights.is_limited() && ListensTooMuch(client)) {
    client.transport.CloseNow();
  } else if (client.rights.is_limited() && client.wait.kind() == WaitKind::kKeyFree) {
    ReviewWatcher(client, now);
  } else if (client.rights.is_limited() && client.wait.kind() == WaitKind::kList) {
    ReviewListWait(client);
  }
}

void AccessReview::ReviewListWait(Client& client) {
  const std::vector<std::string_view> request = lists_.RequestOf(client);
  const std::size_t row = table_.IndexOf(client.profile.last_command->name);
  std::string denial = control_.Judge(*client.rights.user(), row, request);
  if (denial.empty()) return;
  client.wait.Deny(std::move(denial));
  lists_.EndWait(client);
}

void AccessReview::ReviewWatcher(Client& client, engine::TimeMs now) {
  const auto awaited = engine::Inspections::AwaitedBy(client);
  if (!awaited) return;
  const std::array<std::string_view, 4> request = {"WAIT", awaited->key.bytes, "TIMEOUT",
                                                   "FOREVER"};
  const std::size_t row = table_.IndexOf("WAIT");
  std::string denial = control_.Judge(*client.rights.user(), row, request);
  if (denial.empty()) return;
  client.wait.Deny(std::move(denial));
  locks_.engine().sessions().EndWaits(client, locks_.StepAt(now));
}

std::string AccessReview::JudgePlace(const engine::KeyName& key,
                                     const engine::PlaceInfo& place) const {
  if (place.client == nullptr || place.client->user.empty()) return "";
  if (place.client->user == control_.own_user().name) return "";
  const access::User* user = control_.users().Find(place.client->user);
  if (user == nullptr || !user->is_on) return "this user may no longer log in";
  if (user->IsUnlimited()) return "";
  return place.is_redis_way ? JudgeSetNew(*user, key, place) : JudgeLock(*user, key, place);
}

// LOCK and an MLOCK of one key leave identical places, so the user needs permission for only one of
// the two.
std::string AccessReview::JudgeLock(const access::User& user, const engine::KeyName& key,
                                    const engine::PlaceInfo& place) const {
  std::vector<std::string_view> lock = {"LOCK", key.bytes, place.owner};
  std::vector<std::string_view> mlock = {"MLOCK", "1", key.bytes, place.owner};
  if (!place.channel.empty()) {
    lock.insert(lock.end(), {"NOTIFY", place.channel});
    mlock.insert(mlock.end(), {"NOTIFY", place.channel});
  }
  std::string denial = control_.Judge(user, table_.IndexOf("MLOCK"), mlock);
  if (denial.empty() || place.key_count > 1) return denial;
  return control_.Judge(user, table_.IndexOf("LOCK"), lock);
}

std::string AccessReview::JudgeSetNew(const access::User& user, const engine::KeyName& key,
                                      const engine::PlaceInfo& place) const {
  const std::array<std::string_view, 3> setnx = {"SETNX", key.bytes, place.owner};
  if (control_.Judge(user, table_.IndexOf("SETNX"), setnx).empty()) return "";
  const std::array<std::string_view, 4> set = {"SET", key.bytes, place.owner, "NX"};
  return control_.Judge(user, table_.IndexOf("SET"), set);
}

void AccessReview::ReviewQueue(const engine::KeyName& key, engine::TimeMs now,
                               std::vector<Place>& ended) {
  const auto places = locks_.engine().inspection().Queue(key, 0, UINT64_MAX, locks_.StepAt(now));
  for (const engine::PlaceInfo& place : places) {
    std::string denial = JudgePlace(key, place);
    if (denial.empty()) continue;
    ended.push_back({key.db, std::string(key.bytes), std::string(place.owner), std::move(denial)});
  }
}

void AccessReview::EndPlace(const Place& place, engine::TimeMs now) {
  engine::Effects& effects = locks_.effects();
  const std::size_t before = effects.resolutions.size();
  locks_.engine().Cancel({place.db, place.key}, place.owner, {now, effects});
  for (std::size_t i = before; i < effects.resolutions.size(); ++i) {
    const engine::Resolution& resolution = effects.resolutions[i];
    if (resolution.kind != engine::ResolutionKind::kCancelled) continue;
    static_cast<Client*>(resolution.to)->wait.Deny(place.denial);
  }
}

}  // namespace fairlock::command
