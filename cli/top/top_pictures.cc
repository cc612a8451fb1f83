#include "cli/top/top_pictures.h"

#include <array>

#include "cli/claim_tables.h"
#include "cli/duration.h"
#include "cli/table.h"

namespace fairlock::cli {

namespace {

constexpr std::size_t kLabelsShown = 5;

std::string Rate(const OverviewPicture& picture, std::string_view field) {
  if (picture.before == nullptr) return "-";
  const DurationMs passed = picture.now.at - picture.before->at;
  const std::int64_t more = picture.now.info.Number(field) - picture.before->info.Number(field);
  // The counters begin anew with the server.
  if (passed <= 0 || more < 0) return "-";
  return ShowCount(more * 1000 / passed);
}

std::string_view TitleOf(Contention by) {
  switch (by) {
    case Contention::kWaiters:
      return "MOST WAITED FOR";
    case Contention::kLongestWait:
      return "LONGEST WAITS";
    case Contention::kOldestHold:
      return "OLDEST HOLDS WAITED FOR";
  }
  return "";
}

std::string LabelsText(const std::vector<LabelRow>& labels, const Screen& screen) {
  Table table({{.title = "BUSIEST LABELS, 5 MINUTES", .may_shrink = true},
               {.title = "ACQUIRED", .is_right_aligned = true},
               {.title = "AFTER WAIT", .is_right_aligned = true},
               {.title = "DENIED", .is_right_aligned = true},
               {.title = "WAIT P99", .is_right_aligned = true},
               {.title = "HOLD P50", .is_right_aligned = true}},
              screen);
  for (std::size_t i = 0; i < labels.size() && i < kLabelsShown; ++i) {
    const LabelRow& row = labels[i];
    table.Add({{row.label.empty() ? "(none)" : screen.Printable(row.label)},
               {ShowCount(row.acquired)},
               {ShowCount(row.after_wait)},
               {ShowCount(row.denied)},
               {ShowTimeLeft(row.wait_p99_ms, "-")},
               {ShowTimeLeft(row.hold_p50_ms, "-")}});
  }
  return table.Flush();
}

}  // namespace

Frame DrawOverview(const OverviewPicture& picture, const Screen& screen) {
  const InfoReport& info = picture.now.info;
  const auto count = [&](std::string_view field) { return ShowCount(info.Number(field)); };
  Frame frame;
  frame.Add("fairlockd " + info.Text("fairlock_version") + " at " + picture.server_name +
                ", since " + ShowMoment(UnixTimeMs() - info.Number("uptime_in_seconds") * 1000),
            Emphasis::kTitle);
  frame.Add(count("locks") + " locks, " + count("holders") + " holders, " + count("waiters") +
            " waiters; " + count("connected_clients") + " clients, " +
            ShowBytes(info.Number("used_memory")));
  frame.Add("a second: " + Rate(picture, "granted") + " grants, " +
            Rate(picture, "granted_after_wait") + " hand-overs, " + Rate(picture, "denied") +
            " denials, " + Rate(picture, "expired") + " expired");
  frame.Add("");
  if (picture.now.contended.rows.empty()) {
    frame.Add("Nobody waits for a lock.", Emphasis::kFaint);
  } else {
    frame.AddTable(
        ContendedText(picture.now.contended, std::string(TitleOf(picture.sorted_by)), screen),
        picture.selected);
  }
  if (!picture.now.contended.is_whole) frame.Add("(of a part of the locks)", Emphasis::kFaint);
  frame.Add("");
  if (!picture.now.labels.empty()) frame.AddTable(LabelsText(picture.now.labels, screen));
  frame.bottom = {"up/down choose   enter look   b break   s sort   q quit", Emphasis::kFaint};
  return frame;
}

Frame DrawKey(const KeyPicture& picture, const Screen& screen) {
  const LockView& lock = picture.found.lock;
  Frame frame;
  frame.Add(screen.Printable(picture.key.key) + ", database " +
                std::to_string(picture.key.database) + ": " + std::to_string(lock.holders.size()) +
                " hold it, " + std::to_string(lock.waiter_count) + " wait",
            Emphasis::kTitle);
  if (lock.override_limit) {
    frame.Add("an operator's LIMIT: " + std::to_string(*lock.override_limit), Emphasis::kAlarm);
  }
  if (lock.cooling_ms > 0) frame.Add("cooling for " + ShowDuration(lock.cooling_ms));
  frame.Add("");
  if (lock.holders.empty()) {
    frame.Add("Nobody holds it.", Emphasis::kFaint);
  } else {
    frame.AddTable(HoldersTable(lock.holders, screen));
  }
  frame.Add("");
  if (!picture.found.places.empty()) frame.AddTable(PlacesTable(picture.found.places, screen));
  frame.bottom = {"esc back   b break   q quit", Emphasis::kFaint};
  return frame;
}

}  // namespace fairlock::cli
