#include "cli/top/top.h"

#include <algorithm>

#include "cli/output/duration.h"
#include "cli/top/top_pictures.h"
#include "cli/views/force.h"

namespace fairlock::cli {

namespace {

// A look must not keep the server or the one who looks busy.
constexpr int kPagesDrawnFrom = 50;
constexpr std::int64_t kPlacesDrawn = 200;
constexpr std::size_t kRowsMax = 500;
// Locks for which nobody waits are walked, and only to fill the screen.
constexpr int kMorePages = 5;

// A text without stars means any key that has it.
std::string FilterGlob(const std::string& filter) {
  return filter.find_first_of("*?[") == std::string::npos ? "*" + filter + "*" : filter;
}

TopKey KeyOf(const LockRow& row) { return {.database = row.database, .key = row.key}; }

}  // namespace

Top::Top(const TopOptions& options, Context& context)
    : options_(options),
      context_(context),
      terminal_(context.out.has_colours),
      screen_(context.out) {
  screen_.has_colours = false;  // those of the terminal are its own
  screen_.may_drop_columns = true;
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
  if (past_of_) {
    LookAtPast();
  } else if (opened_) {
    LookAtKey();
  } else {
    LookAtOverview();
  }
  look_at_ = NowMs() + options_.every_ms;
}

void Top::LookAtOverview() {
  const std::size_t label_count = overview_ ? overview_->labels.size() : 0;
  const std::size_t room = LockLines(terminal_.rows(), label_count);
  Result<Overview> overview = AskForOverview(
      context_.client, {.glob = filter_.empty() ? options_.glob : FilterGlob(filter_),
                        .database = context_.settings.database,
                        .by = sorted_by_,
                        .count = std::min(room, kRowsMax),
                        .pages_max = kPagesDrawnFrom,
                        .more_pages = kMorePages});
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

void Top::LookAtPast() {
  const auto room = static_cast<std::int64_t>(std::max<std::size_t>(terminal_.rows(), 5) - 4);
  Result<KeyPast> past = AskForKeyPast(context_.client, *past_of_, room);
  if (!past) return Fail(past.failure());
  past_ = std::move(*past);
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
  if (past_of_) return past_of_;
  if (opened_) return opened_;
  if (!overview_ || overview_->contended.rows.empty()) return std::nullopt;
  return KeyOf(overview_->contended.rows[ChosenRow()]);
}

Frame Top::Picture() const {
  if (is_helping_) return DrawHelp(screen_);
  if (past_of_ && past_) return DrawPast(*past_of_, *past_, screen_);
  if (opened_ && one_key_) return DrawKey({.key = *opened_, .found = *one_key_}, screen_);
  if (!overview_) return {};
  return DrawOverview({.now = *overview_,
                       .before = before_ ? &*before_ : nullptr,
                       .sorted_by = sorted_by_,
                       .selected = ChosenRow(),
                       .rows = terminal_.rows(),
                       .filter = filter_,
                       .server_name = context_.client.ServerName()},
                      screen_);
}

// None of it: the picture's own stays.
FrameLine Top::Bottom() const {
  if (question_) {
    return {"End " + EndedText(CountTargets(question_->seen)) + " on " +
                screen_.Printable(question_->key.key) + " by force? [y/N]",
            Emphasis::kAlarm};
  }
  if (typing_) {
    return {"/" + screen_.Printable(*typing_) + "_   enter shows only keys that match, esc all",
            Emphasis::kTitle};
  }
  if (!trouble_.empty()) return {trouble_, Emphasis::kAlarm};
  return {note_, Emphasis::kTitle};
}

void Top::Draw() {
  Frame frame = Picture();
  FrameLine bottom = Bottom();
  if (!bottom.text.empty()) frame.bottom = std::move(bottom);
  frame.CutTo(terminal_.columns(), screen_.charset);
  terminal_.Draw(frame);
}

void Top::Take(const Keystroke& key) {
  if (question_) return TakeAnswer(key.character);
  if (typing_) return TakeFilter(key);
  note_.clear();
  if (key.special == SpecialKey::kUp || key.character == 'k') return Move(-1);
  if (key.special == SpecialKey::kDown || key.character == 'j') return Move(1);
  TakeCommand(key);
  look_at_ = 0;
}

void Top::TakeCommand(const Keystroke& key) {
  if (key.special == SpecialKey::kEnter && !past_of_) opened_ = Chosen();
  if (key.special == SpecialKey::kBack || key.special == SpecialKey::kErase) GoBack();
  switch (key.character) {
    case 'q':
      is_over_ = true;
      break;
    case 's':
      Sort();
      break;
    case 'b':
      Ask();
      break;
    case 'h':
      past_of_ = Chosen();
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
  } else if (past_of_) {
    past_of_.reset();
    past_.reset();
  } else if (opened_) {
    opened_.reset();
    one_key_.reset();
  } else {
    filter_.clear();
  }
}

void Top::TakeFilter(const Keystroke& key) {
  if (key.special == SpecialKey::kErase) {
    if (!typing_->empty()) typing_->pop_back();
    return;
  }
  if (key.character != '\0') return typing_->push_back(key.character);
  if (key.special != SpecialKey::kEnter && key.special != SpecialKey::kBack) return;
  filter_ = key.special == SpecialKey::kEnter ? *typing_ : "";
  typing_.reset();
  opened_.reset();
  past_of_.reset();
  selected_.reset();
  look_at_ = 0;
}

void Top::Move(int by) {
  if (opened_ || past_of_ || !overview_ || overview_->contended.rows.empty()) return;
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
