// `locks`: lists the locks of all databases, page by page or sorted.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>

#include "cli/commands/all_commands.h"
#include "cli/output/duration.h"
#include "cli/output/table.h"
#include "cli/views/lock_walk.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

constexpr std::int64_t kSortedDefault = 1000;
constexpr std::int64_t kSortedMax = 100'000;

struct LocksOptions {
  std::optional<std::string> glob;
  std::optional<DurationMs> waiting_ms;
  std::optional<DurationMs> held_ms;
  std::string sort = "none";
  std::optional<std::int64_t> count;
  bool is_json = false;
};

// Whether the first row precedes the second.
using Order = std::function<bool(const LockRow&, const LockRow&)>;

struct SortRow {
  std::string_view name;
  Order order;
};

const std::array<SortRow, 5>& Sorts() {
  static const std::array<SortRow, 5> sorts = {{
      {"wait", [](const LockRow& a,
                  const LockRow& b) { return a.longest_wait_ms() > b.longest_wait_ms(); }},
      {"held",
       [](const LockRow& a, const LockRow& b) { return a.oldest_hold_ms() > b.oldest_hold_ms(); }},
      {"waiters",
       [](const LockRow& a, const LockRow& b) { return a.waiter_count() > b.waiter_count(); }},
      {"holders",
       [](const LockRow& a, const LockRow& b) { return a.holder_count() > b.holder_count(); }},
      {"key", [](const LockRow& a, const LockRow& b) { return a.key() < b.key(); }},
  }};
  return sorts;
}

// Prints rows page by page.
class LocksPrinter {
 public:
  LocksPrinter(const Context& context, bool is_json)
      : context_(context), is_json_(is_json), table_(Columns(), context.out) {}

  // Returns false if the reader has gone.
  bool Print(const std::vector<LockRow>& rows) {
    std::string text = Opening();
    for (const LockRow& row : rows) {
      if (is_json_) {
        text += (shown_ > 0 ? ",\n" : "\n") + json::Written(ObjectOf(row));
      } else {
        table_.Add(Cells(row));
      }
      ++shown_;
    }
    text += table_.Flush();
    return is_json_ ? context_.PrintJsonText(text) : context_.Print(text);
  }

  void Finish(std::int64_t found, const FleetLeaders& leaders) {
    if (is_json_) {
      context_.Print(Opening() + "],\n");
      boost::json::object rest = {{"shown", shown_}, {"found", found}};
      AddFailed(rest, leaders);
      // The opening brace of the object is already printed.
      context_.PrintJsonText(json::Written(rest).substr(1) + "\n");
    } else if (found == 0) {
      context_.Print("No matching lock is held or waited for.\n");
    } else if (found > shown_) {
      context_.Say(std::to_string(shown_) + " of " + std::to_string(found) +
                   " shown; --count N shows more");
    }
  }

 private:
  // Printed with the first page, so that a failure to fetch it leaves no output.
  std::string Opening() {
    if (!is_json_ || has_opened_) return {};
    has_opened_ = true;
    return "{\"locks\":[";
  }

  static std::vector<Column> Columns() {
    return {{.title = "KEY", .may_shrink = true},
            {.title = "DB", .is_right_aligned = true},
            {.title = "HOLDERS", .is_right_aligned = true},
            {.title = "WAITING", .is_right_aligned = true},
            {.title = "LONGEST WAIT", .is_right_aligned = true},
            {.title = "HELD FOR", .is_right_aligned = true},
            {.title = "LABEL", .may_shrink = true},
            {.title = "FIRST HOLDER", .may_shrink = true}};
  }

  std::vector<Cell> Cells(const LockRow& row) const {
    const Screen& screen = context_.out;
    const bool has_holder = row.holder_count() > 0;
    const bool has_waiter = row.waiter_count() > 0;
    const bool is_of_library = !row.library().empty();
    // Most libraries do not store since when a lock is held.
    const bool is_unknown = is_of_library && row.oldest_hold_ms() == 0;
    const std::string limit = row.limit() > 1 ? "/" + std::to_string(row.limit()) : "";
    return {{screen.Printable(row.key())},
            {std::to_string(row.database())},
            {std::to_string(row.holder_count()) + limit},
            {std::to_string(row.waiter_count()), has_waiter ? Tint::kWarning : Tint::kFaint},
            {has_waiter && !is_of_library ? ShowDuration(row.longest_wait_ms()) : "-"},
            {has_holder && !is_unknown ? ShowDuration(row.oldest_hold_ms()) : "-"},
            {is_of_library ? "(" + screen.Printable(row.library()) + ")"
                           : screen.Printable(row.label())},
            {has_holder ? screen.Printable(row.first_owner()) : "-"}};
  }

  const Context& context_;
  bool is_json_;
  bool has_opened_ = false;
  Table table_;
  std::int64_t shown_ = 0;
};

LockFilter FilterOf(const LocksOptions& options, const Context& context) {
  return {.glob = options.glob.value_or("*"),
          .database = context.settings.database,
          .waiting_ms_min = options.waiting_ms,
          .held_ms_min = options.held_ms};
}

Result<std::int64_t> ShowAsTheyCome(const LocksOptions& options, LockWalk& walk,
                                    LocksPrinter& printer) {
  std::int64_t found = 0;
  while (!walk.is_over()) {
    Result<std::vector<LockRow>> page = walk.NextPage();
    if (!page) return page.failure();
    found += static_cast<std::int64_t>(page->size());
    const bool is_enough = options.count && found >= *options.count;
    if (is_enough) page->resize(page->size() - static_cast<std::size_t>(found - *options.count));
    if (!printer.Print(*page) || is_enough) break;
  }
  return options.count ? std::min(found, *options.count) : found;
}

// Keeps only the best `count` rows, in a heap with the worst of them on top.
Result<std::int64_t> ShowSorted(const LocksOptions& options, LockWalk& walk,
                                LocksPrinter& printer) {
  const Order& before = std::ranges::find(Sorts(), options.sort, &SortRow::name)->order;
  const auto count = static_cast<std::size_t>(options.count.value_or(kSortedDefault));
  std::vector<LockRow> best;
  std::int64_t found = 0;
  while (!walk.is_over()) {
    Result<std::vector<LockRow>> page = walk.NextPage();
    if (!page) return page.failure();
    found += static_cast<std::int64_t>(page->size());
    for (LockRow& row : *page) {
      best.push_back(std::move(row));
      std::push_heap(best.begin(), best.end(), before);
      if (best.size() <= count) continue;
      std::pop_heap(best.begin(), best.end(), before);
      best.pop_back();
    }
  }
  std::sort_heap(best.begin(), best.end(), before);
  printer.Print(best);
  return found;
}

Result<int> ShowLocks(const LocksOptions& options, Context& context) {
  Result<FleetLeaders> leaders = context.FindLeaders();
  if (!leaders) return leaders.failure();
  LockWalk walk(*leaders, FilterOf(options, context));
  LocksPrinter printer(context, options.is_json);
  const Result<std::int64_t> found = options.sort == "none" ? ShowAsTheyCome(options, walk, printer)
                                                            : ShowSorted(options, walk, printer);
  if (!found) return found.failure();
  printer.Finish(*found, *leaders);
  return context.Conclude(*leaders, kExitDone);
}

Action DescribeLocks(Arguments& arguments) {
  auto options = std::make_shared<LocksOptions>();
  arguments.Optional("GLOB", options->glob, "Only keys that match: * ? [a-z]");
  arguments.Duration("--waiting,-w", options->waiting_ms,
                     "Only locks with a waiter that has waited this long (0 for any wait)");
  arguments.Duration("--held", options->held_ms, "Only locks held for this long");
  arguments.Choice("--sort,-s", options->sort,
                   {"wait", "held", "waiters", "holders", "key", "none"},
                   "Sort order (by default, that of the server's scan)");
  arguments.Number("--count,-n", options->count, {1, kSortedMax},
                   "Maximum number of locks (all; sorted: 1000)");
  arguments.Flag("--json", options->is_json, "Print JSON");
  return [options](Context& context) { return ShowLocks(*options, context); };
}

constexpr auto kLocksCommands = std::to_array<CommandRow>({
    {"locks", kInspecting, "Lists locks that are held or waited for, in all databases",
     DescribeLocks},
});

}  // namespace

std::span<const CommandRow> LocksCommands() { return kLocksCommands; }

}  // namespace fairlock::cli
