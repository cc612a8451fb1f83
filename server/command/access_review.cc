#include "server/command/access_review.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "server/command/client.h"
#include "server/command/dispatcher.h"

namespace fairlock::command {

AccessReview::AccessReview(Dispatcher& dispatcher, engine::TimeMs now)
    : dispatcher_(dispatcher), now_(now) {}

void AccessReview::ReviewAll() {
  // One step, so that no place that is about to end is granted because another one ended.
  dispatcher_.BeginStep(now_);
  for (const auto& entry : dispatcher_.clients()) ReviewClient(*entry.second);
  constexpr std::size_t kLocksAtOnce = 1000;
  const engine::LockFilter with_line{.wait_ms_min = 0};
  std::vector<Place> ended;
  std::uint64_t cursor = 0;
  do {
    std::vector<std::pair<std::uint8_t, std::string>> keys;
    cursor = dispatcher_.engine().Scan(
        cursor, kLocksAtOnce, with_line, now_,
        [&](const engine::LockSummary& lock) { keys.emplace_back(lock.key.db, lock.key.bytes); });
    for (const auto& [db, key] : keys) ReviewLine({db, key}, ended);
  } while (cursor != 0);
  for (const Place& place : ended) EndPlace(place);
  dispatcher_.EndStep(now_);
  dispatcher_.DeliverEffects(now_);
}

bool AccessReview::ListensTooMuch(const Client& client) const {
  const access::User& user = *client.user();
  const auto hears_too_much = [&](ChannelKind kind) {
    const auto& channels = client.subscriptions()->of(kind);
    return std::any_of(channels.begin(), channels.end(), [&](const Channel* channel) {
      return !AccessControl::MayHear(user, kind, channel->name);
    });
  };
  if (client.is_monitor()) {
    const std::size_t row = dispatcher_.commands().IndexOf("MONITOR");
    const std::array<std::string_view, 1> request = {"MONITOR"};
    if (!dispatcher_.access().Judge(user, row, request).empty()) return true;
  }
  return client.subscriptions() != nullptr &&
         (hears_too_much(ChannelKind::kExact) || hears_too_much(ChannelKind::kPattern) ||
          hears_too_much(ChannelKind::kShard));
}

void AccessReview::ReviewClient(Client& client) {
  const AccessControl& control = dispatcher_.access();
  if (client.user() == &control.own_user()) return;
  if (client.user() == nullptr) return client.LogOut();
  if (!control.LogInAs(client, client.profile().user)) {
    client.Expel();
  } else if (client.is_limited() && ListensTooMuch(client)) {
    client.transport().CloseNow();
  } else if (client.is_limited() && client.wait_kind() == WaitKind::kKeyFree) {
    ReviewWatcher(client);
  }
}

void AccessReview::ReviewWatcher(Client& client) {
  const auto awaited = engine::LockEngine::AwaitedBy(client);
  if (!awaited) return;
  const std::array<std::string_view, 4> request = {"WAIT", awaited->key.bytes, "TIMEOUT",
                                                   "FOREVER"};
  const std::size_t row = dispatcher_.commands().IndexOf("WAIT");
  std::string denial = dispatcher_.access().Judge(*client.user(), row, request);
  if (denial.empty()) return;
  client.DenyWait(std::move(denial));
  dispatcher_.engine().EndWaits(client, {now_, dispatcher_.effects()});
}

std::string AccessReview::JudgePlace(const engine::KeyName& key,
                                     const engine::PlaceInfo& place) const {
  const AccessControl& control = dispatcher_.access();
  if (place.client == nullptr || place.client->user.empty()) return "";
  if (place.client->user == control.own_user().name) return "";
  const access::User* user = control.users().Find(place.client->user);
  if (user == nullptr || !user->is_on) return "this user is no longer let in";
  if (user->IsUnlimited()) return "";
  return place.is_redis_way ? JudgeSetNew(*user, key, place) : JudgeLock(*user, key, place);
}

// A LOCK and an MLOCK of one key leave the same place.
std::string AccessReview::JudgeLock(const access::User& user, const engine::KeyName& key,
                                    const engine::PlaceInfo& place) const {
  const AccessControl& control = dispatcher_.access();
  const CommandTable& table = dispatcher_.commands();
  std::vector<std::string_view> lock = {"LOCK", key.bytes, place.owner};
  std::vector<std::string_view> mlock = {"MLOCK", "1", key.bytes, place.owner};
  if (!place.channel.empty()) {
    lock.insert(lock.end(), {"NOTIFY", place.channel});
    mlock.insert(mlock.end(), {"NOTIFY", place.channel});
  }
  std::string denial = control.Judge(user, table.IndexOf("MLOCK"), mlock);
  if (denial.empty() || place.key_count > 1) return denial;
  return control.Judge(user, table.IndexOf("LOCK"), lock);
}

std::string AccessReview::JudgeSetNew(const access::User& user, const engine::KeyName& key,
                                      const engine::PlaceInfo& place) const {
  const AccessControl& control = dispatcher_.access();
  const CommandTable& table = dispatcher_.commands();
  const std::array<std::string_view, 3> setnx = {"SETNX", key.bytes, place.owner};
  if (control.Judge(user, table.IndexOf("SETNX"), setnx).empty()) return "";
  const std::array<std::string_view, 4> set = {"SET", key.bytes, place.owner, "NX"};
  return control.Judge(user, table.IndexOf("SET"), set);
}

void AccessReview::ReviewLine(const engine::KeyName& key, std::vector<Place>& ended) {
  const auto places = dispatcher_.engine().Queue(key, 0, UINT64_MAX, {now_, dispatcher_.effects()});
  for (const engine::PlaceInfo& place : places) {
    std::string denial = JudgePlace(key, place);
    if (denial.empty()) continue;
    ended.push_back({key.db, std::string(key.bytes), std::string(place.owner), std::move(denial)});
  }
}

void AccessReview::EndPlace(const Place& place) {
  engine::Effects& effects = dispatcher_.effects();
  const std::size_t before = effects.resolutions.size();
  dispatcher_.engine().Cancel({place.db, place.key}, place.owner, {now_, effects});
  for (std::size_t i = before; i < effects.resolutions.size(); ++i) {
    const engine::Resolution& resolution = effects.resolutions[i];
    if (resolution.kind != engine::ResolutionKind::kCancelled) continue;
    static_cast<Client*>(resolution.to)->DenyWait(place.denial);
  }
}

}  // namespace fairlock::command
