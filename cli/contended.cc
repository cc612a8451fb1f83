#include "cli/contended.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "cli/duration.h"
#include "cli/info_report.h"
#include "cli/lock_walk.h"
#include "cli/table.h"

namespace fairlock::cli {

namespace {

std::int64_t Measure(const LockRow& row, Contention by) {
  switch (by) {
    case Contention::kWaiters:
      return row.waiter_count;
    case Contention::kLongestWait:
      return row.longest_wait_ms;
    case Contention::kOldestHold:
      return row.oldest_hold_ms;
  }
  return 0;
}

}  // namespace

Result<Contended> FindContended(Client& client, const ContentionQuery& query) {
  LockWalk walk(
      client,
      {.glob = query.glob, .database = query.database, .waiting_ms_min = 0, .held_ms_min = {}});
  const auto measure = [&](const LockRow& row) { return Measure(row, query.by); };
  Contended contended;
  for (int page_number = 0; !walk.is_over() && page_number < query.pages_max; ++page_number) {
    Result<std::vector<LockRow>> page = walk.NextPage();
    if (!page) return page.failure();
    std::ranges::move(*page, std::back_inserter(contended.rows));
    std::ranges::stable_sort(contended.rows, std::greater(), measure);
    contended.rows.resize(std::min(contended.rows.size(), query.count));
  }
  contended.is_whole = walk.is_over();
  return contended;
}

std::string ContendedText(const Contended& contended, const std::string& title,
                          const Screen& screen) {
  Table table({{.title = title, .may_shrink = true},
               {.title = "DB", .is_right_aligned = true},
               {.title = "WAITING", .is_right_aligned = true},
               {.title = "LONGEST WAIT", .is_right_aligned = true},
               {.title = "HELD FOR", .is_right_aligned = true},
               {.title = "FIRST HOLDER", .may_shrink = true}},
              screen);
  for (const LockRow& row : contended.rows) {
    table.Add({{screen.Printable(row.key)},
               {std::to_string(row.database)},
               {ShowCount(row.waiter_count), Tint::kWarning},
               {ShowDuration(row.longest_wait_ms)},
               {row.holder_count > 0 ? ShowDuration(row.oldest_hold_ms) : "-"},
               {row.holder_count > 0 ? screen.Printable(row.first_owner) : "-"}});
  }
  return table.Flush();
}

}  // namespace fairlock::cli
