#include "cli/top/top.h"

#include <algorithm>

#include "cli/output/duration.h"
#include "cli/top/top_frames.h"
#include "cli/views/force_release.h"
#include "cli/views/wait_chain.h"

namespace fairlock::cli {

namespace {

// Bounds on one refresh, so that it keeps neither the server nor this machine busy.
constexpr int kPagesMaxTop = 50;
constexpr std::int64_t kPlacesDrawn = 200;
constexpr std::size_t kRowsMax = 500;
// Locks without waiters are scanned only to fill the screen.
constexpr int kUncontendedPagesMax = 5;

// Without wildcards, the filter matches any key that contains it.
std::string FilterGlob(const std::string& filter) {
  return filter.find_first_of("*?[") == std::string::npos ? "*" + filter + "*" : filter;
}

// "held by a and 2 others; next: b"
std::string ConcernedText(const LockView& lock, const std::string& next, const Screen& screen) {
  std::string text = "held by " + screen.Printable(lock.holders.front().who.owner);
  const std::size_t others = lock.holders.size() - 1;
  if (others > 0) text += " and " + std::to_string(others) + (others == 1 ? " other" : " others");
  return text + (next.empty() ? "; nobody waits" : "; next: " + screen.Printable(next));
}

TopKey KeyOf(const LockRow& row) { return {.database = row.database(), .key = row.key()}; }

}  // namespace

Top::Top(const TopOptions& options, Context& context)
    : options_(options),
      context_(context),
      terminal_(context.out.has_colours),
      screen_(context.out) {
  screen_.has_colours = false;  // ncurses draws the colours
  screen_.may_drop_columns = true;
}

Result<int> Top::Run() {
  while (!is_over_) {
    if (NowMs() >= refresh_at_) Refresh();
    Draw();
    const Keystroke key = terminal_.ReadKey(refresh_at_ - NowMs());
    if (key.is_any()) HandleKey(key);
  }
  return kExitDone;
}

void Top::Refresh() {
  if (!failure_text_.empty()) context_.client.Reconnect();
  failure_text_.clear();
  screen_.columns = terminal_.columns();
  if (history_of_) {
    RefreshHistory();
  } else if (opened_) {
    RefreshKey();
  } else {
    RefreshOverview();
  }
  refresh_at_ = NowMs() + options_.every_ms;
}

bool Top::FindLeaders() {
  if (leaders_ && !leaders_->FirstFailure()) return true;
  Result<FleetLeaders> found = context_.FindLeaders();
  if (found) {
    leaders_.emplace(std::move(*found));
  } else {
    Fail(found.failure());
  }
  return found.has_value();
}

void Top::RefreshOverview() {
  if (!FindLeaders()) return;
  const std::size_t label_count = overview_ ? overview_->labels.size() : 0;
  const std::size_t room = LockLines(terminal_.rows(), label_count);
  Result<Overview> overview =
      FetchOverview(*leaders_, {.glob = filter_.empty() ? options_.glob : FilterGlob(filter_),
                                .database = context_.settings.database,
                                .by = sorted_by_,
                                .count = std::min(room, kRowsMax),
                                .pages_max = kPagesMaxTop,
                                .uncontended_pages_max = kUncontendedPagesMax});
  if (!overview) return Fail(overview.failure());
  for (const std::string& text : leaders_->FailureTexts()) {
    failure_text_ += (failure_text_.empty() ? "" : "; ") + text;
  }
  before_ = std::move(overview_);
  overview_ = std::move(*overview);
  if (!selected_ && !overview_->contended.rows.empty()) {
    selected_ = KeyOf(overview_->contended.rows.front());
  }
}

void Top::RefreshKey() {
  Result<OneKey> found = FetchKey(context_.client, *opened_, kPlacesDrawn);
  if (!found) return Fail(found.failure());
  one_key_ = std::move(*found);
}

void Top::RefreshHistory() {
  const auto room = static_cast<std::int64_t>(std::max<std::size_t>(terminal_.rows(), 5) - 4);
  Result<KeyHistory> past = FetchKeyHistory(context_.client, *history_of_, room);
  if (!past) return Fail(past.failure());
  history_ = std::move(*past);
}

void Top::Fail(const Failure& failure) { failure_text_ = failure.text; }

std::size_t Top::ChosenRow() const {
  const auto& rows = overview_->contended.rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (selected_ == KeyOf(rows[i])) return i;
  }
  return 0;
}

std::optional<TopKey> Top::Chosen() const {
  if (history_of_) return history_of_;
  if (opened_) return opened_;
  if (!overview_ || overview_->contended.rows.empty()) return std::nullopt;
  return KeyOf(overview_->contended.rows[ChosenRow()]);
}

std::string Top::ServerText() const {
  if (overview_->partitions == 1) return "at " + context_.client.ServerName();
  return "fleet " + screen_.Printable(overview_->info.Text("fleet_name")) + ", " +
         std::to_string(overview_->answered) + " of " + std::to_string(overview_->partitions) +
         " partitions";
}

Frame Top::CurrentFrame() const {
  if (is_helping_) return DrawHelp(screen_);
  if (history_of_ && history_) return DrawHistory(*history_of_, *history_, screen_);
  if (opened_ && one_key_) return DrawKey({.key = *opened_, .found = *one_key_}, screen_);
  if (!overview_) return {};
  return DrawOverview({.now = *overview_,
                       .before = before_ ? &*before_ : nullptr,
                       .sorted_by = sorted_by_,
                       .selected = ChosenRow(),
                       .rows = terminal_.rows(),
                       .filter = filter_,
                       .server = ServerText()},
                      screen_);
}

// If empty, the frame's own bottom line is shown.
FrameLine Top::BottomLine() const {
  if (confirmation_) {
    return {"End " + EndedText(CountTargets(confirmation_->seen)) + " on " +
                screen_.Printable(confirmation_->key.key) + " by force? [y/N]   " +
                ConcernedText(confirmation_->seen, confirmation_->next, screen_),
            Emphasis::kAlarm};
  }
  if (typing_) {
    return {
        "/" + screen_.Printable(*typing_) + "_   enter: show only keys that match   esc: show all",
        Emphasis::kTitle};
  }
  if (!failure_text_.empty()) return {failure_text_, Emphasis::kAlarm};
  return {note_, Emphasis::kTitle};
}

void Top::Draw() {
  Frame frame = CurrentFrame();
  FrameLine bottom = BottomLine();
  if (!bottom.text.empty()) frame.bottom = std::move(bottom);
  frame.CutTo(terminal_.columns(), screen_.charset);
  terminal_.Draw(frame);
}

void Top::HandleKey(const Keystroke& key) {
  if (confirmation_) return HandleAnswer(key.character);
  if (typing_) return HandleFilterKey(key);
  note_.clear();
  if (key.special == SpecialKey::kUp || key.character == 'k') return Move(-1);
  if (key.special == SpecialKey::kDown || key.character == 'j') return Move(1);
  HandleCommandKey(key);
  refresh_at_ = 0;
}

void Top::HandleCommandKey(const Keystroke& key) {
  if (key.special == SpecialKey::kEnter && !history_of_) opened_ = Chosen();
  if (key.special == SpecialKey::kBack || key.special == SpecialKey::kErase) GoBack();
  switch (key.character) {
    case 'q':
      is_over_ = true;
      break;
    case 's':
      Sort();
      break;
    case 'b':
      AskToBreak();
      break;
    case 'h':
      history_of_ = Chosen();
      break;
    case '/':
      typing_ = "";
      break;
    case '?':
      is_helping_ = !is_helping_;
      break;
    default:
      break;
  }
}

void Top::GoBack() {
  if (is_helping_) {
    is_helping_ = false;
  } else if (history_of_) {
    history_of_.reset();
    history_.reset();
  } else if (opened_) {
    opened_.reset();
    one_key_.reset();
  } else {
    filter_.clear();
  }
}

void Top::HandleFilterKey(const Keystroke& key) {
  if (key.special == SpecialKey::kErase) {
    if (!typing_->empty()) typing_->pop_back();
    return;
  }
  if (key.character != '\0') return typing_->push_back(key.character);
  if (key.special != SpecialKey::kEnter && key.special != SpecialKey::kBack) return;
  filter_ = key.special == SpecialKey::kEnter ? *typing_ : "";
  typing_.reset();
  opened_.reset();
  history_of_.reset();
  selected_.reset();
  refresh_at_ = 0;
}

void Top::Move(int by) {
  if (opened_ || history_of_ || !overview_ || overview_->contended.rows.empty()) return;
  const auto& rows = overview_->contended.rows;
  const auto row = static_cast<std::ptrdiff_t>(ChosenRow()) + by;
  const auto last = static_cast<std::ptrdiff_t>(rows.size()) - 1;
  selected_ = KeyOf(rows[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(row, 0, last))]);
}

void Top::Sort() {
  sorted_by_ = sorted_by_ == Contention::kWaiters       ? Contention::kLongestWait
               : sorted_by_ == Contention::kLongestWait ? Contention::kOldestHold
                                                        : Contention::kWaiters;
  refresh_at_ = 0;
}

void Top::AskToBreak() {
  const std::optional<TopKey> key = Chosen();
  if (!key) return;
  Result<OneKey> found = FetchKey(context_.client, *key, kPlacesDrawn);
  if (!found) return Fail(found.failure());
  if (found->lock.holders.empty()) {
    note_ = screen_.Printable(key->key) + " is not held";
    return;
  }
  const std::vector<PlaceView> ahead = PlacesAhead(found->places, "");
  confirmation_ = {*key, std::move(found->lock), ahead.empty() ? "" : ahead.front().who.owner};
}

void Top::HandleAnswer(char answer) {
  const Confirmation confirmation = std::move(*confirmation_);
  confirmation_.reset();
  refresh_at_ = 0;
  note_ = "nothing was done";
  if (answer != 'y' && answer != 'Y') return;
  // The connection may have been replaced since the question was asked, so the database is selected
  // again.
  const auto selected = context_.client.Ask({"SELECT", std::to_string(confirmation.key.database)});
  if (!selected) return Fail(selected.failure());
  const auto broken = BreakIfUnchanged({.key = confirmation.key.key, .reason = "fairlockctl top"},
                                       confirmation.seen, context_.client);
  if (!broken) return Fail(broken.failure());
  note_ = *broken ? EndedText(**broken) + " on " + screen_.Printable(confirmation.key.key) +
                        " ended by force"
                  : screen_.Printable(confirmation.key.key) +
                        " changed hands in the meantime and was left alone";
}

}  // namespace fairlock::cli
