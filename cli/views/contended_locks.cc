#include "cli/views/contended_locks.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "cli/output/duration.h"
#include "cli/output/table.h"
#include "cli/views/info_report.h"
#include "cli/views/lock_walk.h"

namespace fairlock::cli {

namespace {

std::int64_t Measure(const LockRow& row, Contention by) {
  switch (by) {
    case Contention::kWaiters:
      return row.waiter_count();
    case Contention::kLongestWait:
      return row.longest_wait_ms();
    case Contention::kOldestHold:
      return row.oldest_hold_ms();
  }
  return 0;
}

// Rows that were held equally long keep their order from one look to the next.
bool IsHeldLonger(const LockRow& one, const LockRow& other) {
  if (one.oldest_hold_ms() != other.oldest_hold_ms())
    return one.oldest_hold_ms() > other.oldest_hold_ms();
  return one.key() < other.key();
}

// Finds held locks without waiters, those held longest first.
Result<std::vector<LockRow>> FindHeld(FleetLeaders& leaders, const ContentionQuery& query) {
  LockWalk walk(
      leaders,
      {.glob = query.glob, .database = query.database, .pages_max = query.uncontended_pages_max});
  std::vector<LockRow> rows;
  while (!walk.is_over()) {
    Result<std::vector<LockRow>> page = walk.NextPage();
    if (!page) return page.failure();
    std::erase_if(*page, [](const LockRow& row) { return row.waiter_count() > 0; });
    std::ranges::move(*page, std::back_inserter(rows));
    std::ranges::sort(rows, IsHeldLonger);
    rows.resize(std::min(rows.size(), query.count));
  }
  return rows;
}

void Note(const LockRow& row, std::size_t partition, Contended& contended) {
  if (row.longest_wait_ms() > kLongWaitMs) ++contended.long_waits;
  if (contended.longest && row.longest_wait_ms() <= contended.longest->longest_wait_ms()) return;
  contended.longest = row;
  contended.longest_partition = partition;
}

}  // namespace

Result<Contended> FindContended(FleetLeaders& leaders, const ContentionQuery& query) {
  LockWalk walk(leaders, {.glob = query.glob,
                          .database = query.database,
                          .waiting_ms_min = 0,
                          .held_ms_min = {},
                          .pages_max = query.pages_max});
  const auto measure = [&](const LockRow& row) { return Measure(row, query.by); };
  Contended contended;
  while (!walk.is_over()) {
    Result<std::vector<LockRow>> page = walk.NextPage();
    if (!page) return page.failure();
    for (const LockRow& row : *page) Note(row, walk.partition(), contended);
    std::ranges::move(*page, std::back_inserter(contended.rows));
    std::ranges::stable_sort(contended.rows, std::greater(), measure);
    contended.rows.resize(std::min(contended.rows.size(), query.count));
  }
  contended.is_whole = walk.is_whole();
  if (contended.rows.size() >= query.count || query.uncontended_pages_max == 0) return contended;
  Result<std::vector<LockRow>> held = FindHeld(leaders, query);
  if (!held) return held.failure();
  std::ranges::move(*held, std::back_inserter(contended.rows));
  contended.rows.resize(std::min(contended.rows.size(), query.count));
  return contended;
}

std::string ContendedText(const Contended& contended, const std::string& title,
                          const Screen& screen) {
  Table table({{.title = title, .may_shrink = true},
               {.title = "DB", .is_right_aligned = true, .drop_order = 1},
               {.title = "WAITING", .is_right_aligned = true},
               {.title = "LONGEST WAIT", .is_right_aligned = true, .drop_order = 2},
               {.title = "HELD FOR", .is_right_aligned = true, .drop_order = 3},
               {.title = "FIRST HOLDER", .may_shrink = true}},
              screen);
  for (const LockRow& row : contended.rows) {
    table.Add(
        {{screen.Printable(row.key())},
         {std::to_string(row.database())},
         {ShowCount(row.waiter_count()), row.waiter_count() > 0 ? Tint::kWarning : Tint::kFaint},
         {row.waiter_count() > 0 ? ShowDuration(row.longest_wait_ms()) : "-"},
         {row.holder_count() > 0 ? ShowDuration(row.oldest_hold_ms()) : "-"},
         {row.holder_count() > 0 ? screen.Printable(row.first_owner()) : "-"}});
  }
  return table.Flush();
}

}  // namespace fairlock::cli
