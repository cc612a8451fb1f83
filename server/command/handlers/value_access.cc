#include "server/command/handlers/value_access.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <unordered_map>
#include <vector>

#include "server/command/handlers/command_costs.h"
#include "server/command/handlers/redis_arguments.h"
#include "server/command/handlers/shared_replies.h"
#include "server/command/server_parts.h"
#include "server/command/table/command_docs.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"
#include "server/values/names.h"

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
  if (call.server.availability.are_bounds_lifted()) return false;
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
  if (!is_new || call.server.availability.are_bounds_lifted() ||
      call.server.values.store().size() < call.server.values.limits().values_max) {
    return false;
  }
  RefuseTooMany(call.reply, "hashes, lists, sets and sorted sets (max_locks)");
  return true;
}

bool RefusesElement(Invocation& call, const Growth& growth) {
  if (growth.longest <= values::kElementBytesMax) return false;
  call.reply.Error(ErrorCode::kErr, "an element has " + std::to_string(growth.longest) +
                                        " bytes; the limit is " +
                                        std::to_string(values::kElementBytesMax));
  return true;
}

bool MayExceed(Invocation& call, const Size& before, const Growth& growth) {
  const values::ValueLimits& limits = call.server.values.limits();
  const std::size_t bytes = before.bytes + growth.bytes + growth.elements * values::kElementBytes;
  return before.elements + growth.elements > limits.elements_max || bytes > limits.bytes_max;
}

namespace {

template <typename IsThere>
Size SizeWithNames(Size size, std::span<const std::string_view> names, IsThere is_there) {
  const values::Names unique(names);
  for (std::size_t i = 0; i < unique.size(); ++i) {
    if (is_there(unique.at(i))) continue;
    ++size.elements;
    size.bytes += unique.at(i).size() + values::kElementBytes;
  }
  return size;
}

}  // namespace

Size SizeWith(const values::Set& set, std::span<const std::string_view> members) {
  return SizeWithNames(SizeOf(set), members, [&](std::string_view name) { return set.Has(name); });
}

Size SizeWith(const values::SortedSet& set, std::span<const std::string_view> members) {
  return SizeWithNames(SizeOf(set), members,
                       [&](std::string_view name) { return set.ScoreOf(name).has_value(); });
}

Size SizeWith(const values::Hash& hash, std::span<const std::string_view> names_and_values) {
  Size size = SizeOf(hash);
  std::unordered_map<std::string_view, std::size_t> set;  // the size of the value that a field has
  for (std::size_t i = 0; i < names_and_values.size(); i += 2) {
    const std::string_view name = names_and_values[i];
    const auto [at, is_first] = set.try_emplace(name);
    if (is_first) {
      const std::string* present = hash.Find(name);
      if (present != nullptr) at->second = present->size();
      if (present == nullptr) size.bytes += name.size() + values::kElementBytes;
      if (present == nullptr) ++size.elements;
    }
    size.bytes += names_and_values[i + 1].size();
    size.bytes -= at->second;
    at->second = names_and_values[i + 1].size();
  }
  return size;
}

bool RefusesFull(Invocation& call, const CommandSpec& spec, const protocol::Arguments& arguments,
                 std::uint8_t db, protocol::ReplyWriter& reply) {
  Values& values = call.server.values;
  const values::ValueLimits& limits = values.limits();
  const engine::LockEngine& engine = call.server.locks.engine();
  const bool has_room_for_keys = engine.counts().locks < engine.options().locks_max &&
                                 values.store().size() < limits.values_max;
  std::vector<std::string_view> keys = KeysOf(spec, arguments.views());
  // ZINTERSTORE and ZUNIONSTORE only read the others.
  if (spec.keys.counts_others) keys.resize(std::min<std::size_t>(keys.size(), 1));
  for (const std::string_view bytes : keys) {
    const engine::KeyName key{db, bytes};
    const values::Value* value = values.Find(key, call.now);
    if (value == nullptr && !has_room_for_keys && !values.IsLock(key, call.now)) {
      RefuseTooMany(reply, "locks, or of hashes, lists, sets and sorted sets (max_locks)");
      return true;
    }
    if (value == nullptr || !IsOfValues(spec)) continue;
    if (value->size() < limits.elements_max && value->bytes() < limits.bytes_max) continue;
    reply.Error(ErrorCode::kFull, "the value of " + Quoted(bytes) +
                                      " has reached value_elements_max or value_bytes_max");
    return true;
  }
  return false;
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

bool RefusesElements(Invocation& call, std::size_t elements, std::size_t bytes) {
  const Cost cost{bytes + elements * 2 * kFrame, elements * kElementWork};
  if (RefusesCost(call.server, cost, call.reply)) return true;
  call.server.work.Charge(cost.work);
  return false;
}

bool RefusesErasure(Invocation& call, std::size_t elements) {
  constexpr std::uint64_t kEraseWork = 500;
  const Cost cost{0, elements * kEraseWork};
  if (RefusesCost(call.server, cost, call.reply)) return true;
  call.server.work.Charge(cost.work);
  return false;
}

std::optional<ElementScan> ReadElementScan(Invocation& call) {
  const protocol::Arguments& arguments = call.arguments;
  ElementScan scan;
  const auto cursor = ReadCursor(call, arguments[2]);
  if (!cursor) return std::nullopt;
  scan.cursor = *cursor;
  for (std::size_t i = 3; i < arguments.size(); i += 2) {
    const bool has_value = i + 1 < arguments.size();
    if (has_value && EqualsIgnoreCase(arguments[i], "COUNT")) {
      const auto count = ReadRedisInteger(call, arguments[i + 1]);
      if (!count) return std::nullopt;
      if (*count >= 1) {
        scan.count = static_cast<std::size_t>(*count);
        continue;
      }
    } else if (has_value && EqualsIgnoreCase(arguments[i], "MATCH")) {
      auto glob = ReadGlob(call, "MATCH", arguments[i + 1]);
      if (!glob) return std::nullopt;
      scan.glob = *std::move(glob);
      continue;
    }
    RefuseSyntax(call.reply);
    return std::nullopt;
  }
  if (RefusesToMatch(call)) return std::nullopt;
  return scan;
}

void BeginElementPage(Invocation& call, std::size_t replies, std::uint64_t next_cursor) {
  call.reply.ArrayHeader(2);
  call.reply.Bulk(std::to_string(next_cursor));
  call.reply.ArrayHeader(replies);
}

std::string_view NameOfType(values::ValueType type) {
  switch (type) {
    case values::ValueType::kHash:
      return "hash";
    case values::ValueType::kList:
      return "list";
    case values::ValueType::kSortedSet:
      return "zset";
    case values::ValueType::kSet:
      return "set";
  }
  return "";
}

values::Value* ValueOf(const Invocation& call, const engine::KeyName& key) {
  return call.server.values.Find(key, call.now);
}

bool RefusesValue(Invocation& call, const engine::KeyName& key) {
  if (ValueOf(call, key) == nullptr) return false;
  RefuseType(call.reply);
  return true;
}

bool ExpireValue(const Invocation& call, values::Value& value,
                 const engine::ExpiryRequest& request) {
  Values& values = call.server.values;
  if (!request.MayChange(value.deadline(), call.now)) return false;
  if (request.lease_ms && *request.lease_ms <= 0) {
    values.Delete(value);
    return true;
  }
  values.store().SetTtl(value, request.lease_ms, call.now);
  values.PublishGeneric(value, request.lease_ms ? "expire" : "persist");
  return true;
}

}  // namespace fairlock::command
