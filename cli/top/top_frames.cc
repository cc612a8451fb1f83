#include "cli/top/top_frames.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "cli/output/duration.h"
#include "cli/output/table.h"
#include "cli/views/claim_tables.h"
#include "cli/views/history.h"

namespace fairlock::cli {

namespace {

// The overview shows at most this many labels, below the locks.
constexpr std::size_t kLabelsShown = 5;
// Lines other than rows: the verdict, the longest wait, the title, counts, rates, a blank line, the
// headings of both tables with a blank line between them, and the help line.
constexpr std::size_t kOtherLines = 10;
constexpr std::size_t kLocksMin = 3;

// Returns the longest text that fits: a truncated list of keys helps nobody.
std::string KeysLine(std::initializer_list<std::string_view> texts, const Screen& screen) {
  for (const std::string_view text : texts) {
    if (screen.columns == 0 || text.size() <= screen.columns) return std::string(text);
  }
  return std::string(*(texts.end() - 1));
}

std::string Rate(const OverviewView& picture, std::string_view field) {
  if (picture.before == nullptr || picture.before->answered != picture.now.answered) return "-";
  const DurationMs passed = picture.now.at - picture.before->at;
  const std::int64_t more = picture.now.info.Number(field) - picture.before->info.Number(field);
  // The counters start over when the server restarts.
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
      return "OLDEST CONTENDED HOLDS";
  }
  return "";
}

std::string LabelsText(const std::vector<LabelRow>& labels, std::size_t shown,
                       const Screen& screen) {
  Table table({{.title = "BUSIEST LABELS, 5 MINUTES", .may_shrink = true},
               {.title = "ACQUIRED", .is_right_aligned = true},
               {.title = "AFTER WAIT", .is_right_aligned = true, .drop_order = 1},
               {.title = "DENIED", .is_right_aligned = true, .drop_order = 2},
               {.title = "WAIT P99", .is_right_aligned = true, .drop_order = 4},
               {.title = "HOLD P50", .is_right_aligned = true, .drop_order = 3}},
              screen);
  for (std::size_t i = 0; i < labels.size() && i < shown; ++i) {
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

Frame DrawOverview(const OverviewView& picture, const Screen& screen) {
  const InfoReport& info = picture.now.info;
  const auto count = [&](std::string_view field) { return ShowCount(info.Number(field)); };
  Frame frame;
  const Verdict& verdict = picture.now.verdict;
  frame.Add(VerdictText(verdict), verdict.concerns.empty() ? Emphasis::kTitle : Emphasis::kAlarm);
  frame.Add("longest wait: " + LongestWaitText(verdict, screen));
  frame.Add("fairlockd " + screen.Printable(info.Text("fairlock_version")) + " " + picture.server +
                ", since " + ShowMoment(UnixTimeMs() - info.Number("uptime_in_seconds") * 1000),
            Emphasis::kTitle);
  frame.Add(count("locks") + " locks, " + count("holders") + " holders, " + count("waiters") +
            " waiters; " + count("connected_clients") + " clients, " +
            ShowBytes(info.Number("used_memory")));
  frame.Add("per second: " + Rate(picture, "granted") + " grants, " +
            Rate(picture, "granted_after_wait") + " hand-overs, " + Rate(picture, "denied") +
            " denials, " + Rate(picture, "expired") + " expired");
  frame.Add("");
  if (!picture.filter.empty()) {
    frame.lines.back().text = "only keys that match " + screen.Printable(picture.filter);
  }
  if (picture.now.contended.rows.empty()) {
    frame.Add("No lock is held or waited for.", Emphasis::kFaint);
  } else {
    frame.AddTable(
        ContendedText(picture.now.contended, std::string(TitleOf(picture.sorted_by)), screen),
        picture.selected);
  }
  if (!picture.now.contended.is_whole)
    frame.Add("(only some of the locks were scanned)", Emphasis::kFaint);
  frame.Add("");
  // The labels get the lines that the locks leave free.
  const std::size_t used = frame.lines.size() + 2;
  if (!picture.now.labels.empty() && picture.rows > used) {
    frame.AddTable(LabelsText(picture.now.labels, picture.rows - used, screen));
  }
  frame.bottom = {
      KeysLine({"up/down select   enter show   h history   / filter   s sort   b break   "
                "? help   q quit",
                "enter show  h history  / filter  s sort  b break  ? help  q quit",
                "enter show  h history  / filter  ? help  q quit", "? help  q quit"},
               screen),
      Emphasis::kFaint};
  return frame;
}

Frame DrawKey(const KeyView& picture, const Screen& screen) {
  const LockView& lock = picture.found.lock;
  Frame frame;
  frame.Add(screen.Printable(picture.key.key) + ", database " +
                std::to_string(picture.key.database) + ": " + std::to_string(lock.holders.size()) +
                " holding, " + std::to_string(lock.waiter_count) + " waiting",
            Emphasis::kTitle);
  if (lock.override_limit) {
    frame.Add("LIMIT set by an operator: " + std::to_string(*lock.override_limit),
              Emphasis::kAlarm);
  }
  if (lock.cooling_ms > 0) frame.Add("in cooldown for " + ShowDuration(lock.cooling_ms));
  frame.Add("");
  if (lock.holders.empty()) {
    frame.Add("Nobody holds it.", Emphasis::kFaint);
  } else {
    frame.AddTable(HoldersTable(lock.holders, screen));
  }
  frame.Add("");
  if (!picture.found.places.empty()) frame.AddTable(PlacesTable(picture.found.places, screen));
  frame.bottom = {
      KeysLine({"esc back   h history   b break   ? help   q quit", "esc back  ? help"}, screen),
      Emphasis::kFaint};
  return frame;
}

Frame DrawHistory(const TopKey& key, const KeyHistory& past, const Screen& screen) {
  Frame frame;
  frame.Add(
      "History of " + screen.Printable(key.key) + ", database " + std::to_string(key.database),
      Emphasis::kTitle);
  frame.Add("");
  if (!past.refusal.empty()) {
    frame.Add(past.refusal, Emphasis::kFaint);
  } else if (past.events.empty()) {
    frame.Add("No events are recorded for this key.", Emphasis::kFaint);
  } else {
    frame.AddTable(HistoryText(past.events, false, screen));
  }
  frame.bottom = {"esc back   ? help   q quit", Emphasis::kFaint};
  return frame;
}

Frame DrawHelp(const Screen&) {
  Frame frame;
  frame.Add("Keys", Emphasis::kTitle);
  frame.Add("");
  for (const char* const line :
       {"up, k       select the lock above", "down, j     select the lock below",
        "enter       show its holders and its queue", "h           show its history",
        "b           end its holds by force, after a confirmation",
        "/           show only keys that match",
        "s           sort by waiters, longest wait or oldest hold",
        "esc         go back, or clear the filter", "?           show this help",
        "q           quit"}) {
    frame.Add(line);
  }
  frame.bottom = {"esc back   q quit", Emphasis::kFaint};
  return frame;
}

std::size_t LockLines(std::size_t rows, std::size_t label_count) {
  const std::size_t others = kOtherLines + std::min(label_count, kLabelsShown);
  return rows > others + kLocksMin ? rows - others : kLocksMin;
}

}  // namespace fairlock::cli
