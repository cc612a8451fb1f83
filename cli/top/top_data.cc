#include "cli/top/top_data.h"

#include <algorithm>
#include <functional>

#include "cli/connection/reply_fields.h"
#include "cli/views/history.h"

namespace fairlock::cli {

namespace {

constexpr std::string_view kMinutes = "5";

std::vector<LabelRow> ReadLabels(const protocol::Reply& stats) {
  std::vector<LabelRow> labels;
  const protocol::Reply* const rows = FindField(stats, "labels");
  if (rows == nullptr) return labels;
  for (const protocol::Reply& row : rows->elements) {
    labels.push_back({.label = TextField(row, "label"),
                      .acquired = IntegerOr(row, "acquired"),
                      .after_wait = IntegerOr(row, "granted_after_wait"),
                      .denied = IntegerOr(row, "denied"),
                      .wait_p99_ms = IntegerField(row, "wait_p99_ms"),
                      .hold_p50_ms = IntegerField(row, "hold_p50_ms")});
  }
  std::ranges::stable_sort(labels, std::greater(), &LabelRow::acquired);
  return labels;
}

// Servers that keep no statistics refuse the request, and are left out.
std::vector<LabelRow> FetchLabels(FleetLeaders& leaders) {
  const std::vector<std::string_view> request = {"STATS", "MINUTES", kMinutes};
  std::vector<protocol::Reply> replies;
  for (std::size_t partition = 0; partition < leaders.size(); ++partition) {
    if (leaders.leader(partition).failure) continue;
    Result<protocol::Reply> stats = leaders.leader(partition).client->AskRaw(request);
    if (!stats) {
      leaders.Fail(partition, stats.failure());
    } else if (!stats->IsError()) {
      replies.push_back(std::move(*stats));
    }
  }
  return replies.empty() ? std::vector<LabelRow>() : ReadLabels(MergedStats(replies, false));
}

}  // namespace

Result<Overview> FetchOverview(FleetLeaders& leaders, const ContentionQuery& query) {
  Overview overview;
  overview.at = NowMs();
  const Result<std::vector<LeaderInfo>> infos = FetchInfos(leaders);
  if (!infos) return infos.failure();
  overview.info = CombinedInfo(*infos);
  overview.answered = infos->size();
  overview.partitions = leaders.size();
  Result<Contended> contended = FindContended(leaders, query);
  if (!contended) return contended.failure();
  overview.contended = std::move(*contended);
  overview.verdict = FindVerdict(leaders, overview.info, overview.contended);
  overview.labels = FetchLabels(leaders);
  if (const auto failure = leaders.TotalFailure()) return *failure;
  return overview;
}

Result<OneKey> FetchKey(Client& client, const TopKey& key, std::int64_t places_max) {
  const Result<protocol::Reply> selected = client.Ask({"SELECT", std::to_string(key.database)});
  if (!selected) return selected.failure();
  Result<LockView> lock = FetchLock(client, key.key);
  if (!lock) return lock.failure();
  const Result<protocol::Reply> places =
      client.Ask({"QUEUE", key.key, "COUNT", std::to_string(places_max)});
  if (!places) return places.failure();
  OneKey found{.lock = std::move(*lock), .places = {}};
  for (const protocol::Reply& place : places->elements) found.places.push_back(ReadPlace(place));
  return found;
}

Result<KeyHistory> FetchKeyHistory(Client& client, const TopKey& key, std::int64_t events_max) {
  const Result<protocol::Reply> selected = client.Ask({"SELECT", std::to_string(key.database)});
  if (!selected) return selected.failure();
  Result<HistoryPage> page = FetchHistory(client, {.key = key.key, .count = events_max});
  if (page) return KeyHistory{.events = std::move(page->events), .refusal = {}};
  // A server without a history refuses the request.
  if (page.failure().exit_code == kExitUnreachable) return page.failure();
  return KeyHistory{.events = {}, .refusal = page.failure().text};
}

}  // namespace fairlock::cli
