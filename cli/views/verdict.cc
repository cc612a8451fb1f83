#include "cli/views/verdict.h"

#include <array>
#include <boost/json/array.hpp>
#include <map>

#include "cli/base/clock.h"
#include "cli/output/duration.h"
#include "cli/views/fleet_view.h"
#include "cli/views/wait_chain.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

// Of these, the first that is not absent is looked for.
constexpr std::string_view kPlacesLookedAt = "100";
// As in deploy/prometheus/fairlock-alerts.yaml.
constexpr std::int64_t kClientsPercentMax = 90;

std::int64_t CountDrains(const InfoReport& info) {
  constexpr std::string_view kDrain = ",limit=0";
  std::int64_t drains = 0;
  for (std::int64_t i = 0; i < info.Number("limit_overrides"); ++i) {
    const std::string text = info.Text("limit_override" + std::to_string(i));
    const std::size_t at = text.rfind(kDrain);
    if (at == std::string::npos) continue;
    const std::size_t end = at + kDrain.size();
    if (end == text.size() || text[end] == ',') ++drains;
  }
  return drains;
}

// A user who may not ask for the status of the fleet sees no warnings about it.
std::vector<std::string> FindFleetWarnings(FleetLeaders& leaders) {
  constexpr auto kRequest = std::to_array<std::string_view>({"CLUSTER", "STATUS"});
  std::map<std::size_t, protocol::Reply> statuses;
  for (std::size_t partition = 0; partition < leaders.size(); ++partition) {
    if (leaders.leader(partition).failure) continue;
    Result<protocol::Reply> status = leaders.leader(partition).client->Ask(kRequest);
    if (status) statuses.emplace(partition, std::move(*status));
  }
  if (statuses.empty()) return {};
  const protocol::Reply& any = statuses.begin()->second;
  return leaders.is_several() ? FleetWarnings(any, PartitionsOf(any, statuses))
                              : FleetWarnings(any);
}

LongestWait FindOwner(LongestWait wait, Client& client) {
  if (!client.Ask({"SELECT", std::to_string(wait.database)})) return wait;
  const Result<protocol::Reply> places = client.Ask({"QUEUE", wait.key, "COUNT", kPlacesLookedAt});
  if (!places) return wait;
  std::vector<PlaceView> queue;
  for (const protocol::Reply& place : places->elements) queue.push_back(ReadPlace(place));
  const std::vector<PlaceView> ahead = PlacesAhead(queue, "");
  if (ahead.empty()) return wait;
  wait.owner = ahead.front().who.owner;
  wait.since_unix_ms = ahead.front().who.since_unix_ms;
  wait.waited_ms = ahead.front().waited_ms;
  return wait;
}

}  // namespace

std::vector<std::string> ConcernsOf(const InfoReport& info, const Contended& contended) {
  std::vector<std::string> concerns;
  const auto is_set = [&](std::string_view name) { return info.Number(name) > 0; };
  if (is_set("storage_failed")) concerns.emplace_back("writing to disk has failed");
  if (is_set("short_of_disk")) {
    concerns.push_back("disk short: " + ShowBytes(info.Number("free_disk_bytes")) +
                       " free, new locks are refused");
  }
  if (is_set("short_of_memory")) {
    concerns.push_back("memory short: " + ShowBytes(info.Number("used_memory")) +
                       " used, new locks are refused");
  }
  const std::int64_t clients = info.Number("connected_clients");
  if (clients * 100 > info.Number("maxclients") * kClientsPercentMax) {
    concerns.push_back(ShowCount(clients) + " of " + ShowCount(info.Number("maxclients")) +
                       " possible connections are open");
  }
  if (is_set("history_file_dropped")) {
    concerns.push_back("the history file has lost " +
                       ShowCount(info.Number("history_file_dropped")) + " events");
  }
  if (const std::int64_t drains = CountDrains(info)) {
    concerns.push_back(ShowCount(drains) + (drains == 1 ? " drain" : " drains") +
                       " in force (`fairlockctl limit list`)");
  }
  if (contended.long_waits > 0) {
    concerns.push_back((contended.is_whole ? "" : "at least ") + ShowCount(contended.long_waits) +
                       (contended.long_waits == 1 ? " lock has" : " locks have") +
                       " been waited for longer than 1m (`fairlockctl locks --waiting 1m`)");
  }
  return concerns;
}

Verdict FindVerdict(FleetLeaders& leaders, const InfoReport& info, const Contended& contended) {
  Verdict verdict{.concerns = ConcernsOf(info, contended), .longest = {}};
  if (!info.Text("fleet_name").empty()) {
    const std::vector<std::string> warnings = FindFleetWarnings(leaders);
    verdict.concerns.insert(verdict.concerns.begin(), warnings.begin(), warnings.end());
  }
  if (const std::size_t failed = leaders.FailureTexts().size()) {
    verdict.concerns.insert(verdict.concerns.begin(), std::to_string(failed) + " of " +
                                                          std::to_string(leaders.size()) +
                                                          " partitions do not answer");
  }
  if (!contended.longest) return verdict;
  const LockRow& row = *contended.longest;
  verdict.longest = {.key = row.key(),
                     .database = row.database(),
                     .owner = {},
                     .waited_ms = row.longest_wait_ms(),
                     .since_unix_ms = UnixTimeMs() - row.longest_wait_ms()};
  const FleetLeaders::Leader& leader = leaders.leader(contended.longest_partition);
  if (!leader.failure) verdict.longest = FindOwner(*verdict.longest, *leader.client);
  return verdict;
}

std::string VerdictText(const Verdict& verdict) {
  std::string text;
  for (const std::string& concern : verdict.concerns) {
    text += (text.empty() ? "needs attention: " : "; ") + concern;
  }
  return text.empty() ? "healthy" : text;
}

std::string LongestWaitText(const Verdict& verdict, const Screen& screen) {
  if (!verdict.longest) return "nobody waits";
  const LongestWait& wait = *verdict.longest;
  return screen.Printable(wait.key) + ", database " + std::to_string(wait.database) + ": " +
         (wait.owner.empty() ? "" : screen.Printable(wait.owner) + " ") + "for " +
         ShowDuration(wait.waited_ms) + ", since " + ShowMoment(wait.since_unix_ms);
}

boost::json::object ObjectOf(const Verdict& verdict) {
  boost::json::array concerns;
  for (const std::string& concern : verdict.concerns) concerns.emplace_back(concern);
  boost::json::object object = {{"concerns", concerns}, {"longest_wait", nullptr}};
  if (!verdict.longest) return object;
  boost::json::object wait;
  json::AddText(wait, "key", verdict.longest->key);
  wait["db"] = verdict.longest->database;
  json::AddText(wait, "owner", verdict.longest->owner);
  wait["waited_ms"] = verdict.longest->waited_ms;
  wait["since"] = verdict.longest->since_unix_ms;
  object["longest_wait"] = wait;
  return object;
}

}  // namespace fairlock::cli
