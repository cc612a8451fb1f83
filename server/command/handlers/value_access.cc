#include "server/command/handlers/value_access.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "server/command/handlers/redis_arguments.h"
#include "server/command/handlers/shared_replies.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

using protocol::ErrorCode;

values::Value* FindValue(Invocation& call, const engine::KeyName& key, bool& is_refused) {
  is_refused = !IsKeyOrRefuse(call, key.bytes);
  if (is_refused) return nullptr;
  values::Value* value = call.server.values.Find(key, call.now);
  if (value == nullptr && call.server.values.IsLock(key, call.now)) {
    is_refused = true;
    RefuseType(call.reply);
  }
  return value;
}

template <typename Content>
Opened<Content> OpenValue(Invocation& call, std::size_t position) {
  Opened<Content> opened{.key = KeyOf(call, position)};
  opened.value = FindValue(call, opened.key, opened.is_refused);
  if (opened.value != nullptr && !std::holds_alternative<Content>(opened.value->content)) {
    opened.is_refused = true;
    RefuseType(call.reply);
  }
  return opened;
}

template Opened<values::Hash> OpenValue(Invocation&, std::size_t);
template Opened<values::List> OpenValue(Invocation&, std::size_t);
template Opened<values::SortedSet> OpenValue(Invocation&, std::size_t);
template Opened<values::Set> OpenValue(Invocation&, std::size_t);

bool RefusesSize(Invocation& call, std::string_view key, const Size& before, const Size& after) {
  const values::ValueLimits& limits = call.server.values.limits();
  const bool is_long = after.elements > limits.elements_max && after.elements > before.elements;
  const bool is_large = after.bytes > limits.bytes_max && after.bytes > before.bytes;
  if (!is_long && !is_large) return false;
  const std::string size = is_long
                               ? std::to_string(after.elements) + " elements"
                               : std::to_string(after.bytes) + " bytes, with 16 for each element";
  const std::string limit = is_long ? std::to_string(limits.elements_max) + " (value_elements_max)"
                                    : std::to_string(limits.bytes_max) + " (value_bytes_max)";
  call.reply.Error(ErrorCode::kFull, "the value of " + Quoted(key) + " would have " + size +
                                         "; the limit is " + limit);
  return true;
}

bool RefusesGrowth(Invocation& call, bool is_new) {
  if (!call.server.availability.takes_locks()) {
    call.server.availability.RefuseLock(call.reply);
    return true;
  }
  if (!is_new || call.server.values.store().size() < call.server.values.limits().values_max) {
    return false;
  }
  RefuseTooMany(call.reply, "hashes, lists, sets and sorted sets (max_locks)");
  return true;
}

std::optional<std::int64_t> ReadCount(Invocation& call, std::string_view text) {
  const auto count = ParseRedisInteger(text);
  if (count && *count >= 0) return count;
  call.reply.Error(ErrorCode::kErr, "value is out of range, must be positive");
  return std::nullopt;
}

namespace {

// As in Redis, whatever `convert` accepts, except blanks at the front, NaN, and what is too large
// or too small for the type.
template <typename Number>
std::optional<Number> ParseFloat(std::string_view text, Number (*convert)(const char*, char**)) {
  if (text.empty() || IsBlank(text[0])) return std::nullopt;
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  const Number number = convert(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size() || std::isnan(number)) return std::nullopt;
  if (errno == ERANGE && (std::isinf(number) || number == 0)) return std::nullopt;
  return number;
}

}  // namespace

std::optional<double> ReadScore(Invocation& call, std::string_view text, std::string_view error) {
  const auto score = ParseFloat<double>(text, std::strtod);
  if (!score) call.reply.Error(ErrorCode::kErr, error);
  return score;
}

std::optional<long double> ParseLongDouble(std::string_view text) {
  return ParseFloat<long double>(text, std::strtold);
}

std::string FormatDouble(double number) {
  constexpr int kDigits = 17;
  std::array<char, 40> digits;
  const auto end =
      std::to_chars(digits.begin(), digits.end(), number, std::chars_format::general, kDigits);
  return {digits.begin(), end.ptr};
}

std::string FormatLongDouble(long double number) {
  constexpr int kDecimals = 17;
  std::array<char, 5 * 1024> digits;
  const auto end =
      std::to_chars(digits.begin(), digits.end(), number, std::chars_format::fixed, kDecimals);
  std::string_view text(digits.begin(), end.ptr);
  text.remove_suffix(text.size() - 1 - text.find_last_not_of('0'));
  if (text.ends_with('.')) text.remove_suffix(1);
  return text == "-0" ? "0" : std::string(text);
}

void WriteScore(Invocation& call, double score) { call.reply.DoubleText(FormatDouble(score)); }

IndexRange RangeOf(std::int64_t first, std::int64_t last, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  if (first < 0) first = std::max<std::int64_t>(first < -count ? 0 : first + count, 0);
  if (last < 0) last = last < -count ? -1 : last + count;
  last = std::min(last, count - 1);
  if (first > last || first >= count) return {};
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last) + 1};
}

std::optional<engine::Glob> ReadElementScan(Invocation& call) {
  const protocol::Arguments& arguments = call.arguments;
  std::optional<engine::Glob> glob = engine::Glob("*");
  for (std::size_t i = 3; i < arguments.size(); i += 2) {
    const bool has_value = i + 1 < arguments.size();
    if (has_value && EqualsIgnoreCase(arguments[i], "COUNT")) {
      const auto count = ReadRedisInteger(call, arguments[i + 1]);
      if (!count) return std::nullopt;
      if (*count >= 1) continue;
    } else if (has_value && EqualsIgnoreCase(arguments[i], "MATCH")) {
      glob = ReadGlob(call, "MATCH", arguments[i + 1]);
      if (!glob) return std::nullopt;
      continue;
    }
    RefuseSyntax(call.reply);
    return std::nullopt;
  }
  if (RefusesToMatch(call)) return std::nullopt;
  return glob;
}

void BeginElementPage(Invocation& call, std::size_t replies) {
  call.reply.ArrayHeader(2);
  call.reply.Bulk("0");
  call.reply.ArrayHeader(replies);
}

}  // namespace fairlock::command
