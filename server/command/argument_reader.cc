#include "server/command/argument_reader.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "server/command/text.h"
#include "server/engine/label_table.h"

namespace fairlock::command {

namespace {

struct Unit {
  std::string_view suffix;
  engine::DurationMs ms;
};

// Longer suffixes first: "ms" ends with "s".
constexpr std::array<Unit, 4> kTimeUnits = {
    {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}}};

std::optional<engine::DurationMs> ParseDuration(std::string_view text) {
  engine::DurationMs unit_ms = 1;
  for (const Unit& unit : kTimeUnits) {
    if (text.size() <= unit.suffix.size()) continue;
    const std::string_view end = text.substr(text.size() - unit.suffix.size());
    if (!EqualsIgnoreCase(end, unit.suffix)) continue;
    unit_ms = unit.ms;
    text.remove_suffix(unit.suffix.size());
    break;
  }
  const auto number = ParseInteger(text);
  if (!number || *number < 0 || *number >= engine::kForever / unit_ms) return std::nullopt;
  return *number * unit_ms;
}

std::string Bounds(std::int64_t min, std::int64_t max) {
  return std::to_string(min) + " to " + std::to_string(max);
}

}  // namespace

void ArgumentReader::Fail(std::string text) {
  if (failed_) return;
  failed_ = true;
  error_ = std::move(text);
}

std::string_view ArgumentReader::Next(std::string_view name) {
  if (failed_) return {};
  if (next_ < arguments_.size()) return arguments_[next_++];
  Fail("syntax error: " + std::string(name) + " is missing");
  return {};
}

engine::KeyName ArgumentReader::Key(std::uint8_t db, std::uint64_t hash) {
  const std::string_view key = Next("key");
  if (!failed_ && (key.empty() || key.size() > engine::kKeyBytesMax)) {
    Fail("key: " + std::to_string(key.size()) + " bytes; 1 to 1024 would be right");
  }
  return {db, key, hash};
}

std::string_view ArgumentReader::Owner(std::string_view name) {
  const std::string_view owner = Next(name);
  if (!failed_ && (owner.empty() || owner.size() > engine::kOwnerBytesMax)) {
    Fail(std::string(name) + ": " + std::to_string(owner.size()) +
         " bytes; 1 to 8192 would be right");
  }
  return owner;
}

std::int64_t ArgumentReader::Integer(std::string_view name, std::int64_t min, std::int64_t max) {
  const std::string_view text = Next(name);
  if (failed_) return min;
  const auto number = ParseInteger(text);
  if (number && *number >= min && *number <= max) return *number;
  Fail(std::string(name) + ": " + Quoted(text) + " is not a whole number from " + Bounds(min, max));
  return min;
}

engine::Token ArgumentReader::Token(std::string_view name) {
  return static_cast<engine::Token>(Integer(name, 0, static_cast<std::int64_t>(engine::kTokenMax)));
}

engine::DurationMs ArgumentReader::Lease(std::string_view name, engine::DurationMs unit_ms) {
  return Integer(name, 1, engine::kLeaseMsMax / unit_ms) * unit_ms;
}

engine::DurationMs ArgumentReader::LeaseSeconds() { return Lease("EX", 1000); }

engine::DurationMs ArgumentReader::LeaseMilliseconds() { return Lease("PX", 1); }

engine::DurationMs ArgumentReader::ReadDuration(std::string_view name, bool may_be_forever) {
  const std::string_view text = Next(name);
  if (failed_) return 0;
  if (may_be_forever && EqualsIgnoreCase(text, "FOREVER")) return engine::kForever;
  if (const auto duration = ParseDuration(text)) return *duration;
  Fail(std::string(name) + ": " + Quoted(text) +
       " is not a duration; milliseconds, or a number with ms, s, m or h" +
       (may_be_forever ? ", or FOREVER" : "") + " would be right");
  return 0;
}

engine::DurationMs ArgumentReader::Duration(std::string_view name) {
  return ReadDuration(name, false);
}

engine::DurationMs ArgumentReader::DurationUpTo(std::string_view name, engine::DurationMs max_ms,
                                                std::string_view option) {
  const engine::DurationMs duration_ms = ReadDuration(name, false);
  if (duration_ms > max_ms) {
    Fail(std::string(name) + ": " + std::to_string(duration_ms) + " ms; at most " +
         std::to_string(max_ms) + " ms (" + std::string(option) + ") would be right");
  }
  return duration_ms;
}

engine::DurationMs ArgumentReader::DurationOrForever(std::string_view name) {
  return ReadDuration(name, true);
}

engine::TimeMs ArgumentReader::Moment(std::string_view name, engine::TimeMs now,
                                      std::int64_t unix_now_ms) {
  const std::string_view text = Next(name);
  if (failed_) return now;
  const auto unix_ms = ParseInteger(text);
  if (unix_ms && *unix_ms >= 0 && *unix_ms < engine::kForever) {
    return std::clamp<engine::TimeMs>(now - unix_now_ms + *unix_ms, 0, engine::kNever);
  }
  const auto ago_ms = unix_ms ? std::nullopt : ParseDuration(text);
  if (ago_ms) return std::max<engine::TimeMs>(now - *ago_ms, 0);
  Fail(std::string(name) + ": " + Quoted(text) +
       " is not a time; Unix milliseconds, or how long ago with ms, s, m or h, would be right");
  return now;
}

std::string_view ArgumentReader::Meta() {
  const std::string_view meta = Next("META");
  if (meta.size() > engine::kMetaBytesMax) {
    Fail("META: " + std::to_string(meta.size()) + " bytes; at most 4096 would be right");
  }
  return meta;
}

std::string_view ArgumentReader::Label() {
  const std::string_view label = Next("LABEL");
  if (failed_) return label;
  if (!engine::IsLabel(label)) {
    Fail("LABEL: " + Quoted(label) + "; 1 to 64 of A-Z a-z 0-9 _ . : - would be right");
  }
  return label;
}

std::string_view ArgumentReader::Reason() {
  const std::string_view reason = Next("REASON");
  if (reason.size() > engine::kReasonBytesMax) {
    Fail("REASON: " + std::to_string(reason.size()) + " bytes; at most 256 would be right");
  }
  return reason;
}

std::string_view ArgumentReader::Pattern() {
  const std::string_view pattern = Next("pattern");
  if (!failed_ && (pattern.empty() || pattern.size() > engine::kKeyBytesMax)) {
    Fail("pattern: " + std::to_string(pattern.size()) + " bytes; 1 to 1024 would be right");
  }
  return pattern;
}

bool ArgumentReader::Take(std::string_view option) {
  if (!has_more() || !EqualsIgnoreCase(arguments_[next_], option)) return false;
  ++next_;
  return true;
}

bool ArgumentReader::TakeOnce(std::string_view option, std::uint32_t bit, std::uint32_t& seen) {
  if (!Take(option)) return false;
  if ((seen & bit) != 0) {
    Fail("syntax error: " + std::string(option) + " is given twice, or with one that excludes it");
  }
  seen |= bit;
  return true;
}

void ArgumentReader::FailUnknownOption(std::string_view allowed) {
  Fail("syntax error: " + Quoted(arguments_[next_]) + " is not an option here; " +
       std::string(allowed) + " would be right");
}

bool ArgumentReader::Finish(protocol::ReplyWriter& reply) {
  if (!failed_ && next_ < arguments_.size()) {
    Fail("syntax error: " + Quoted(arguments_[next_]) + " is one argument too many");
  }
  if (failed_) reply.Error(protocol::ErrorCode::kErr, error_);
  return !failed_;
}

}  // namespace fairlock::command
