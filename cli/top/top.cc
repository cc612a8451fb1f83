#include "cli/top/top.h"

#include <algorithm>

#include "cli/duration.h"
#include "cli/force.h"
#include "cli/top/top_pictures.h"

namespace fairlock::cli {

namespace {

// A look must not keep the server or the one who looks busy.
constexpr int kPagesDrawnFrom = 50;
constexpr std::int64_t kPlacesDrawn = 200;
constexpr std::size_t kRowsMax = 200;
// Lines of the overview that are no locks.
constexpr std::size_t kOtherLines = 13;
constexpr std::size_t kRowsMin = 3;

TopKey KeyOf(const LockRow& row) { return {.database = row.database, .key = row.key}; }

}  // namespace

Top::Top(const TopOptions& options, Context& context)
    : options_(options),
      context_(context),
      terminal_(context.out.has_colours),
      screen_(context.out) {
  screen_.has_colours = false;  // those of the terminal are its own
}

Result<int> Top::Run() {
  while (!is_over_) {
    if (NowMs() >= look_at_) Look();
    Draw();
    const Keystroke key = terminal_.ReadKey(look_at_ - NowMs());
    if (key.is_any()) Take(key);
  }
  return kExitDone;
}

void Top::Look() {
  if (!trouble_.empty()) context_.client.Reconnect();
  trouble_.clear();
  screen_.columns = terminal_.columns();
  if (opened_) {
    LookAtKey();
  } else {
    LookAtOverview();
  }
  look_at_ = NowMs() + options_.every_ms;
}

void Top::LookAtOverview() {
  const std::size_t room = terminal_.rows() > kOtherLines ? terminal_.rows() - kOtherLines : 0;
  Result<Overview> overview =
      AskForOverview(context_.client, {.glob = options_.glob,
                                       .database = context_.settings.database,
                                       .by = sorted_by_,
                                       .count = std::clamp(room, kRowsMin, kRowsMax),
                                       .pages_max = kPagesDrawnFrom});
  if (!overview) return Fail(overview.failure());
  before_ = std::move(overview_);
  overview_ = std::move(*overview);
  if (!selected_ && !overview_->contended.rows.empty()) {
    selected_ = KeyOf(overview_->contended.rows.front());
  }
}

void Top::LookAtKey() {
  Result<OneKey> found = AskForKey(context_.client, *opened_, kPlacesDrawn);
  if (!found) return Fail(found.failure());
  one_key_ = std::move(*found);
}

void Top::Fail(const Failure& failure) { trouble_ = failure.text; }

std::size_t Top::ChosenRow() const {
  const auto& rows = overview_->contended.rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (selected_ == KeyOf(rows[i])) return i;
  }
  return 0;
}

std::optional<TopKey> Top::Chosen() const {
  if (opened_) return opened_;
  if (!overview_ || overview_->contended.rows.empty()) return std::nullopt;
  return KeyOf(overview_->contended.rows[ChosenRow()]);
}

Frame Top::Picture() const {
  if (opened_ && one_key_) return DrawKey({.key = *opened_, .found = *one_key_}, screen_);
  if (!overview_) return {};
  return DrawOverview({.now = *overview_,
                       .before = before_ ? &*before_ : nullptr,
                       .sorted_by = sorted_by_,
                       .selected = ChosenRow(),
                       .server_name = context_.client.ServerName()},
                      screen_);
}

void Top::Draw() {
  Frame frame = Picture();
  if (question_) {
    frame.bottom = {"End " + EndedText(CountTargets(question_->seen)) + " on " +
                        screen_.Printable(question_->key.key) + " by force? [y/N]",
                    Emphasis::kAlarm};
  } else if (!trouble_.empty()) {
    frame.bottom = {trouble_, Emphasis::kAlarm};
  } else if (!note_.empty()) {
    frame.bottom = {note_, Emphasis::kTitle};
  }
  frame.CutTo(terminal_.columns(), screen_.charset);
  terminal_.Draw(frame);
}

void Top::Take(const Keystroke& key) {
  if (question_) return TakeAnswer(key.character);
  note_.clear();
  if (key.special == SpecialKey::kUp || key.character == 'k') return Move(-1);
  if (key.special == SpecialKey::kDown || key.character == 'j') return Move(1);
  if (key.character == 'q') is_over_ = true;
  if (key.character == 's') return Sort();
  if (key.character == 'b') return Ask();
  if (key.special == SpecialKey::kEnter) opened_ = Chosen();
  if (key.special == SpecialKey::kBack) {
    opened_.reset();
    one_key_.reset();
  }
  look_at_ = 0;
}

void Top::Move(int by) {
  if (opened_ || !overview_ || overview_->contended.rows.empty()) return;
  const auto& rows = overview_->contended.rows;
  const auto row = static_cast<std::ptrdiff_t>(ChosenRow()) + by;
  const auto last = static_cast<std::ptrdiff_t>(rows.size()) - 1;
  selected_ = KeyOf(rows[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(row, 0, last))]);
}

void Top::Sort() {
  sorted_by_ = sorted_by_ == Contention::kWaiters       ? Contention::kLongestWait
               : sorted_by_ == Contention::kLongestWait ? Contention::kOldestHold
                                                        : Contention::kWaiters;
  look_at_ = 0;
}

void Top::Ask() {
  const std::optional<TopKey> key = Chosen();
  if (!key) return;
  Result<OneKey> found = AskForKey(context_.client, *key, 1);
  if (!found) return Fail(found.failure());
  if (found->lock.holders.empty()) {
    note_ = screen_.Printable(key->key) + " is held by nobody";
    return;
  }
  question_ = {*key, std::move(found->lock)};
}

void Top::TakeAnswer(char answer) {
  const Question question = std::move(*question_);
  question_.reset();
  look_at_ = 0;
  note_ = "nothing was done";
  if (answer != 'y' && answer != 'Y') return;
  // The connection may be another one than when the question came up.
  const auto selected = context_.client.Ask({"SELECT", std::to_string(question.key.database)});
  if (!selected) return Fail(selected.failure());
  const auto broken = BreakIfUnchanged({.key = question.key.key, .reason = "fairlockctl top"},
                                       question.seen, context_.client);
  if (!broken) return Fail(broken.failure());
  note_ =
      *broken
          ? EndedText(**broken) + " on " + screen_.Printable(question.key.key) + " ended by force"
          : screen_.Printable(question.key.key) + " has changed hands meanwhile and was left alone";
}

}  // namespace fairlock::cli
