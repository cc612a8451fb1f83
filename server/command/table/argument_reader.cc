#include "server/command/table/argument_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/command/table/duration_text.h"
#include "server/command/table/glob_walk.h"
#include "server/command/table/nearest_word.h"
#include "server/command/table/text.h"
#include "server/engine/api/key_rules.h"

namespace fairlock::command {

namespace {

std::string Bounds(std::int64_t min, std::int64_t max) {
  return " from " + std::to_string(min) + " to " + std::to_string(max);
}

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

// Visits the upper-case words in a list such as "MATCH, COUNT or DB".
template <typename Visit>
void VisitOptions(std::string_view allowed, Visit visit) {
  while (!allowed.empty()) {
    const std::size_t end = std::min(allowed.find_first_of(" ,"), allowed.size());
    if (end > 0 && IsUpper(allowed.front())) visit(allowed.substr(0, end));
    allowed.remove_prefix(std::min(end + 1, allowed.size()));
  }
}

}  // namespace

void ArgumentReader::Fail(std::string text) {
  if (failed_) return;
  failed_ = true;
  error_ = std::move(text);
}

void ArgumentReader::FailValue(std::string_view name, const std::optional<std::string_view>& value,
                               std::string_view allowed) {
  const std::string shown(name);
  if (value) {
    Fail(shown + " must be " + std::string(allowed) + ", got " + Quoted(*value));
  } else if (IsUpper(name.front())) {
    Fail("syntax error: " + shown + " needs a value" + (allowed.empty() ? "" : ": ") +
         std::string(allowed));
  } else {
    Fail("syntax error: " + shown + " is missing");
  }
}

std::optional<std::string_view> ArgumentReader::TakeValue() {
  if (failed_ || next_ >= arguments_.size()) return std::nullopt;
  return arguments_[next_++];
}

std::string_view ArgumentReader::Next(std::string_view name) {
  const auto value = TakeValue();
  if (!value) FailValue(name, value, {});
  return value.value_or(std::string_view());
}

std::string_view ArgumentReader::Bytes(std::string_view name, std::size_t min, std::size_t max) {
  const auto value = TakeValue();
  if (value && value->size() >= min && value->size() <= max) return *value;
  const std::string allowed =
      (min == 0 ? "at most " : std::to_string(min) + " to ") + std::to_string(max) + " bytes";
  if (value) {
    Fail(std::string(name) + " must have " + allowed + ", got " + std::to_string(value->size()));
  } else {
    FailValue(name, value, allowed);
  }
  return {};
}

engine::KeyName ArgumentReader::Key(const engine::KeyName& known) {
  return {known.db, Bytes("key", 1, engine::kKeyBytesMax), known.hash};
}

std::string_view ArgumentReader::Owner(std::string_view name) {
  return Bytes(name, 1, engine::kOwnerBytesMax);
}

std::int64_t ArgumentReader::Number(std::string_view name, std::int64_t min, std::int64_t max,
                                    std::string_view kind, std::string_view remark) {
  const auto value = TakeValue();
  const auto number = value ? ParseInteger(*value) : std::nullopt;
  if (number && *number >= min && *number <= max) return *number;
  FailValue(name, value, std::string(kind).append(Bounds(min, max)).append(remark));
  return min;
}

std::int64_t ArgumentReader::Integer(std::string_view name, std::int64_t min, std::int64_t max) {
  return Number(name, min, max, "a whole number", "");
}

engine::Token ArgumentReader::Token(std::string_view name) {
  return static_cast<engine::Token>(Integer(name, 0, static_cast<std::int64_t>(engine::kTokenMax)));
}

engine::DurationMs ArgumentReader::LeaseSeconds() {
  return 1000 * Number("EX", 1, engine::kLeaseMsMax / 1000, "a whole number of seconds",
                       " (365 days), without a unit");
}

engine::DurationMs ArgumentReader::LeaseMilliseconds() {
  return Number("PX", 1, engine::kLeaseMsMax, "a whole number of milliseconds",
                " (365 days), without a unit");
}

engine::DurationMs ArgumentReader::ReadDuration(std::string_view name, bool may_be_forever) {
  const auto value = TakeValue();
  if (may_be_forever && value && EqualsIgnoreCase(*value, "FOREVER")) return engine::kForever;
  if (const auto duration = value ? ParseDuration(*value) : std::nullopt) {
    const bool is_suspect =
        !duration->has_unit && duration->ms > 0 && duration->ms <= kSuspectMsMax;
    if (is_suspect && bare_duration_.ms == 0) bare_duration_ = {name, duration->ms};
    return duration->ms;
  }
  FailValue(name, value,
            "a duration such as 30s, with " + std::string(kDurationUnits) +
                " (without a unit it is milliseconds)" + (may_be_forever ? ", or FOREVER" : ""));
  return 0;
}

engine::DurationMs ArgumentReader::Duration(std::string_view name) {
  return ReadDuration(name, false);
}

engine::DurationMs ArgumentReader::DurationUpTo(std::string_view name, engine::DurationMs max_ms,
                                                std::string_view setting) {
  const engine::DurationMs duration_ms = ReadDuration(name, false);
  if (duration_ms > max_ms) {
    std::string text = std::string(name) + " must be at most " + FormatDuration(max_ms);
    if (!setting.empty()) text.append(" (").append(setting).append(")");
    Fail(text + ", got " + FormatDuration(duration_ms));
  }
  return duration_ms;
}

engine::DurationMs ArgumentReader::DurationOrForever(std::string_view name) {
  return ReadDuration(name, true);
}

engine::TimeMs ArgumentReader::Moment(std::string_view name, engine::TimeMs now,
                                      std::int64_t unix_now_ms) {
  const auto value = TakeValue();
  const auto moment = value ? ParseMoment(*value, now, unix_now_ms) : std::nullopt;
  if (!moment) FailValue(name, value, MomentForms());
  return moment.value_or(now);
}

std::string_view ArgumentReader::Meta() { return Bytes("META", 0, engine::kMetaBytesMax); }

std::string_view ArgumentReader::Label() {
  const auto value = TakeValue();
  if (value && engine::IsLabel(*value)) return *value;
  FailValue("LABEL", value, "1 to 64 of A-Z a-z 0-9 _ . : -");
  return {};
}

std::string_view ArgumentReader::Reason() { return Bytes("REASON", 0, engine::kReasonBytesMax); }

std::string_view ArgumentReader::Pattern() { return Bytes("pattern", 1, engine::kKeyBytesMax); }

engine::Glob ArgumentReader::PatternOf(std::string_view name) {
  const std::string_view glob = Next(name);
  std::string mistake = DescribeLongGlob(name, glob);
  if (mistake.empty()) return engine::Glob(glob);
  Fail(std::move(mistake));
  return {};
}

bool ArgumentReader::Take(std::string_view option) {
  if (!has_more() || !EqualsIgnoreCase(arguments_[next_], option)) return false;
  ++next_;
  return true;
}

bool ArgumentReader::TakeOnce(std::string_view option, std::uint32_t bit, std::uint32_t& seen) {
  if (!Take(option)) return false;
  if ((seen & bit) != 0) Fail("syntax error: " + std::string(option) + " is given twice");
  seen |= bit;
  return true;
}

std::string ArgumentReader::CommandName() const {
  std::string name;
  for (std::size_t i = 0; i < names_; ++i) {
    for (const char c : arguments_[i]) name += ToUpper(c);
    if (i + 1 < names_) name += ' ';
  }
  return name;
}

void ArgumentReader::FailUnknownOption(std::string_view allowed, std::string_view hint) {
  const std::string_view word = arguments_[next_];
  std::string text = "syntax error: " + Quoted(word) + " is not an option of " + CommandName();
  if (!hint.empty()) return Fail(text.append("; ").append(hint));
  NearestWord nearest(word);
  VisitOptions(allowed, [&](std::string_view option) { nearest.Try(option); });
  if (!nearest.found().empty()) text.append(" (did you mean ").append(nearest.found()).append("?)");
  Fail(text.append("; it takes ").append(allowed));
}

bool ArgumentReader::Finish(protocol::ReplyWriter& reply) {
  if (!failed_ && next_ < arguments_.size()) {
    Fail("syntax error: " + Quoted(arguments_[next_]) + " is an unexpected argument for " +
         CommandName());
  }
  if (failed_) reply.Error(protocol::ErrorCode::kErr, error_);
  return !failed_;
}

}  // namespace fairlock::command
