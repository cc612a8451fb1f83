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

}  // namespace

Result<Overview> FetchOverview(Client& client, const ContentionQuery& query) {
  Overview overview;
  overview.at = NowMs();
  Result<InfoReport> info = FetchInfo(client);
  if (!info) return info.failure();
  overview.info = std::move(*info);
  Result<Contended> contended = FindContended(client, query);
  if (!contended) return contended.failure();
  overview.contended = std::move(*contended);
  const std::vector<std::string_view> request = {"STATS", "MINUTES", kMinutes};
  const Result<protocol::Reply> stats = client.AskRaw(request);
  if (!stats) return stats.failure();
  overview.labels = ReadLabels(*stats);
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
