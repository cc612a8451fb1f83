#include "server/command/statistics/statistics.h"

#include <algorithm>
#include <utility>

namespace fairlock::command {

namespace {

// As in Redis, an error whose first word is longer than this counts as ERR.
constexpr std::size_t kWordBytesMax = 32;

// Replaces characters that would make a line of INFO ambiguous.
std::string SafeWord(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t end = text.substr(0, kWordBytesMax).find(' ');
  std::string word(end == std::string_view::npos || end == 0 ? "ERR" : text.substr(0, end));
  std::ranges::replace_if(
      word, [](char c) { return c <= ' ' || c > '~' || c == ':' || c == '#'; }, '_');
  return word;
}

}  // namespace

CommandStatistics::CommandStatistics(const Clock& clock, std::size_t rows)
    : clock_(clock), commands_(rows) {}

std::uint64_t CommandStatistics::UsecOf(const CommandCounts& counts) const {
  return static_cast<std::uint64_t>(static_cast<double>(counts.ticks) * clock_.NsPerTick() / 1000);
}

std::uint64_t CommandStatistics::ErrorsOf(std::string_view word) const {
  const auto found = errors_.find(word);
  return found == errors_.end() ? 0 : found->second;
}

void CommandStatistics::TurnToAnother(std::size_t row) {
  const std::uint64_t now = clock_.Ticks();
  // Checked because the tick counters of two processors may differ slightly.
  if (timed_row_ != CommandTable::kNone && now > timed_since_) {
    commands_[timed_row_].ticks += now - timed_since_;
  }
  timed_row_ = row;
  timed_since_ = now;
}

void CommandStatistics::CountRejected(std::size_t row, protocol::ErrorCode code) {
  if (row != CommandTable::kNone) ++commands_[row].rejected;
  CountError(code);
}

void CommandStatistics::CountFailed(std::size_t row, protocol::ErrorCode code) {
  CountFailed(row);
  CountError(code);
}

void CommandStatistics::CountError(std::string_view text) { CountWord(SafeWord(text)); }

void CommandStatistics::CountError(protocol::ErrorCode code) {
  const std::string_view word = protocol::Word(code);
  CountWord(std::string(word.substr(0, word.find(' '))));
}

void CommandStatistics::CountWord(std::string word) {
  ++all_errors_;
  const bool is_one_too_many = errors_.size() >= kErrorWordsMax && !errors_.contains(word);
  ++errors_[is_one_too_many ? std::string(kOtherErrors) : std::move(word)];
}

void CommandStatistics::Reset() {
  std::ranges::fill(commands_, CommandCounts());
  errors_.clear();
  all_errors_ = 0;
}

}  // namespace fairlock::command
