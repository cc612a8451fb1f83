// What commands cost that show or change small values.

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <variant>

#include "server/command/handlers/command_costs.h"
#include "server/command/handlers/sorted_set_ranges.h"
#include "server/command/handlers/value_access.h"
#include "server/command/server_parts.h"
#include "server/command/table/glob_walk.h"
#include "server/values/value.h"

namespace fairlock::command {

namespace {

// Elements and bytes that the value of a key may have, after what earlier requests may have added.
struct ValueSize {
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
};

ValueSize SizeOfValue(const CostQuestion& asked, std::size_t position) {
  const values::ValueLimits& limits = asked.server.values.limits();
  ValueSize size{std::min<std::uint64_t>(asked.earlier.arguments, limits.elements_max),
                 std::min<std::uint64_t>(asked.earlier.bytes, limits.bytes_max)};
  if (const values::Value* value = asked.server.values.Find(KeyAt(asked, position), asked.now)) {
    std::visit(
        [&](const auto& content) {
          size.elements += content.size();
          size.bytes += content.bytes();
        },
        value->content);
  }
  return size;
}

// Looks at each element, or moves it.
constexpr std::uint64_t kLookWork = 15;
constexpr std::uint64_t kScoreBytes = 32;
// Searches an element, changes it or erases it, whatever the size of the value.
constexpr std::uint64_t kSearchWork = 1000;

Cost OneSearch(const CostQuestion& asked) { return Plus(asked, {0, kSearchWork}); }

// Searches the elements that it names, or adds them.
Cost NamedElements(const CostQuestion& asked) {
  return Plus(asked, {0, asked.arguments.size() * kSearchWork});
}

// Looks at elements, at most all of them.
Cost SearchedValue(const CostQuestion& asked) {
  return Plus(asked, {0, SizeOfValue(asked, 1).elements * kLookWork});
}

// Shows that number of elements of a value, at most all of them. In a short value, these may be the
// longest ones.
Cost Shown(const CostQuestion& asked, const ValueSize& size, std::uint64_t elements) {
  constexpr std::uint64_t kShortBytes = 128 * 1024;
  constexpr std::uint64_t kTimesAverage = 4;
  elements = std::min(elements, size.elements);
  const std::uint64_t average = size.bytes / std::max<std::uint64_t>(size.elements, 1) + 1;
  const std::uint64_t bytes = kTimesAverage * elements * average + asked.earlier.longest;
  return Plus(asked, {(size.bytes <= kShortBytes ? size.bytes : std::min(size.bytes, bytes)) +
                          elements * 2 * kFrame,
                      elements * kElementWork});
}

Cost Elements(const CostQuestion& asked) {
  const ValueSize size = SizeOfValue(asked, 1);
  return Shown(asked, size, size.elements);
}

// The same with scores.
Cost WithScores(const CostQuestion& asked, std::uint64_t elements) {
  const ValueSize size = SizeOfValue(asked, 1);
  elements = std::min(elements, size.elements);
  Cost cost = Shown(asked, size, elements);
  cost += {elements * kScoreBytes, elements * kElementWork};
  return cost;
}

Cost Members(const CostQuestion& asked) { return WithScores(asked, ~std::uint64_t{0}); }

// How many elements are between two indexes; if these are no numbers, all.
std::uint64_t CountBetween(const CostQuestion& asked, std::size_t first) {
  const std::uint64_t size = SizeOfValue(asked, 1).elements;
  const auto from = ParseInteger(asked.arguments[first]);
  const auto to = ParseInteger(asked.arguments[first + 1]);
  if (!from || !to) return size;
  return RangeOf(*from, *to, size).size();
}

// LRANGE and ZREVRANGE.
Cost ElementsBetween(const CostQuestion& asked) {
  return WithScores(asked, CountBetween(asked, 2));
}

// The other ranges of sorted sets.
Cost MembersBetween(const CostQuestion& asked) {
  const bool is_by_rank = EqualsIgnoreCase(asked.arguments[0], "ZRANGE") &&
                          !HasWord(asked, "BYSCORE") && !HasWord(asked, "BYLEX");
  if (is_by_rank) return ElementsBetween(asked);
  for (std::size_t i = 4; i + 2 < asked.arguments.size(); ++i) {
    if (!EqualsIgnoreCase(asked.arguments[i], "LIMIT")) continue;
    const auto count = ParseInteger(asked.arguments[i + 2]);
    if (count && *count >= 0) return WithScores(asked, static_cast<std::uint64_t>(*count));
  }
  return Members(asked);
}

// HSCAN and similar commands: a page.
Cost Page(const CostQuestion& asked) {
  constexpr std::uint64_t kPageBytes = 1024 * 1024;
  Cost cost = WithScores(asked, NumberAfter(asked, "COUNT", 10) +
                                    values::ElementTable<values::Hash::Field>::kFewElements);
  cost.reply_bytes = std::min(cost.reply_bytes, kPageBytes);
  cost.work = std::min(cost.work, 2 * GlobWalk::kPageWorkMax);
  return cost;
}

// Shows one element.
Cost OneElement(const CostQuestion& asked) { return Shown(asked, SizeOfValue(asked, 1), 1); }

// Shows the fields that it names, which may be the same field many times.
Cost NamedFields(const CostQuestion& asked) {
  const std::uint64_t names = asked.arguments.size() - 2;
  const std::uint64_t added =
      std::min<std::uint64_t>(asked.earlier.longest, asked.server.values.limits().bytes_max);
  std::uint64_t bytes = names * (added + kFrame);
  const values::Value* value = asked.server.values.Find(KeyAt(asked, 1), asked.now);
  if (value != nullptr && value->type() == values::ValueType::kHash) {
    const auto& hash = std::get<values::Hash>(value->content);
    for (const std::string* text : hash.FindAll(asked.arguments.views().subspan(2))) {
      if (text != nullptr) bytes += text->size();
    }
  }
  return Plus(asked, {bytes, names * 5 * kWriteWork});
}

Cost ChangedFloat(const CostQuestion& asked) {
  Cost cost = NamedElements(asked);
  cost += {kFloatBytes, kFloatWork};
  return cost;
}

// Searches the elements that it names, and writes a short reply for each of them.
Cost AnsweredElements(const CostQuestion& asked) {
  Cost cost = NamedElements(asked);
  cost += {asked.arguments.size() * (kFrame + kScoreBytes), 0};
  return cost;
}

// LINSERT: looks at each element, and moves up to half of them.
Cost InsertedElement(const CostQuestion& asked) {
  return Plus(asked, {0, kSearchWork + SizeOfValue(asked, 1).elements * 2 * kLookWork});
}

// SRANDMEMBER: with a negative count, as many elements as it says.
Cost RandomElements(const CostQuestion& asked) {
  if (asked.arguments.size() < 3) return OneElement(asked);
  const auto count = ParseInteger(asked.arguments[2]);
  const ValueSize size = SizeOfValue(asked, 1);
  const bool is_error = !count || *count == std::numeric_limits<std::int64_t>::min();
  if (is_error || size.elements == 0) return Small(asked);
  if (*count >= 0) return Shown(asked, size, static_cast<std::uint64_t>(*count));
  constexpr std::uint64_t kShownMax = std::uint64_t{1} << 40;
  const std::uint64_t shown = std::min(-static_cast<std::uint64_t>(*count), kShownMax);
  const std::uint64_t average = size.bytes / std::max<std::uint64_t>(size.elements, 1) + kFrame;
  return Plus(asked, {size.bytes + shown * average, shown * kElementWork});
}

// The sets and sorted sets that are combined, and the result.
Cost CombinedMembers(const CostQuestion& asked) {
  Cost cost = Small(asked);
  const auto keys = ParseInteger(asked.arguments[2]).value_or(0);
  for (std::size_t i = 3; i < asked.arguments.size() && static_cast<std::int64_t>(i) < 3 + keys;
       ++i) {
    cost.work += 3 * kElementWork * SizeOfValue(asked, i).elements + kSmallWork;
  }
  return cost;
}

// Takes one element, or as many as it says. A list that is rotated shows each in its turn.
Cost TakenElements(const CostQuestion& asked) {
  const auto count = asked.arguments.size() > 2 ? ParseInteger(asked.arguments[2]) : 1;
  Cost cost = WithScores(asked, count && *count >= 0 ? static_cast<std::uint64_t>(*count) : 0);
  cost += {asked.earlier.longest, kSmallWork + cost.work};
  return cost;
}

Cost MovedElement(const CostQuestion& asked) {
  const ValueSize size = SizeOfValue(asked, 1);
  return Plus(asked,
              {2 * size.bytes / std::max<std::uint64_t>(size.elements, 1) + asked.earlier.longest,
               2 * kSmallWork});
}

// BLPOP: takes an element of one of many lists.
Cost FirstElement(const CostQuestion& asked) {
  Cost cost = Small(asked);
  for (std::size_t i = 1; i + 1 < asked.arguments.size(); ++i) {
    const ValueSize size = SizeOfValue(asked, i);
    const std::uint64_t bytes = Shown(asked, size, 1).reply_bytes + asked.earlier.longest;
    cost.reply_bytes = std::max(cost.reply_bytes, bytes + engine::kKeyBytesMax);
    cost.work += 2 * kSmallWork;
  }
  return cost;
}

// How many members have a score within bounds; all if these are no numbers.
std::uint64_t CountByScore(const CostQuestion& asked, const ValueSize& size) {
  const values::Value* value = asked.server.values.Find(KeyAt(asked, 1), asked.now);
  const auto bounds = ParseScoreBounds(asked.arguments[2], asked.arguments[3]);
  if (value == nullptr || value->type() != values::ValueType::kSortedSet || !bounds) {
    return size.elements;
  }
  const auto& set = std::get<values::SortedSet>(value->content);
  return RanksOf(set, *bounds).size() + size.elements - set.size();
}

// Erases elements, at most all of them but one; all are freed in steps.
Cost Erased(const CostQuestion& asked, std::uint64_t erased, std::uint64_t size) {
  constexpr std::uint64_t kEraseWork = 500;
  return Plus(asked, {0, kSearchWork + (erased == size ? 0 : erased * kEraseWork)});
}

Cost ErasedRange(const CostQuestion& asked) {
  const bool is_by_rank = EqualsIgnoreCase(asked.arguments[0], "ZREMRANGEBYRANK");
  const ValueSize size = SizeOfValue(asked, 1);
  const std::uint64_t erased = is_by_rank ? CountBetween(asked, 2) : CountByScore(asked, size);
  return Erased(asked, erased, size.elements);
}

// LTRIM.
Cost ErasedAround(const CostQuestion& asked) {
  const std::uint64_t size = SizeOfValue(asked, 1).elements;
  return Erased(asked, size - CountBetween(asked, 2), size);
}

constexpr auto kValueCosts = std::to_array<CostRow>({
    {"EXPIRE", OneSearch},
    {"PEXPIRE", OneSearch},
    {"EXPIREAT", OneSearch},
    {"PEXPIREAT", OneSearch},
    {"PERSIST", OneSearch},
    {"HSET", NamedElements},
    {"HMSET", NamedElements},
    {"HSETNX", NamedElements},
    {"HINCRBY", NamedElements},
    {"HINCRBYFLOAT", ChangedFloat},
    {"HDEL", NamedElements},
    {"HGET", NamedFields},
    {"HMGET", NamedFields},
    {"HEXISTS", OneSearch},
    {"HGETALL", Elements},
    {"HKEYS", Elements},
    {"HVALS", Elements},
    {"HSCAN", Page},
    {"LPUSH", NamedElements},
    {"LPUSHX", NamedElements},
    {"RPUSH", NamedElements},
    {"RPUSHX", NamedElements},
    {"LREM", SearchedValue},
    {"LSET", OneSearch},
    {"LINSERT", InsertedElement},
    {"LTRIM", ErasedAround},
    {"LPOP", TakenElements},
    {"RPOP", TakenElements},
    {"LRANGE", ElementsBetween},
    {"LINDEX", OneElement},
    {"LPOS", SearchedValue},
    {"LMOVE", MovedElement},
    {"RPOPLPUSH", MovedElement},
    {"BLMOVE", MovedElement},
    {"BRPOPLPUSH", MovedElement},
    {"BLPOP", FirstElement},
    {"BRPOP", FirstElement},
    {"SADD", NamedElements},
    {"SREM", NamedElements},
    {"SISMEMBER", OneSearch},
    {"SMISMEMBER", AnsweredElements},
    {"SPOP", TakenElements},
    {"SRANDMEMBER", RandomElements},
    {"SMEMBERS", Elements},
    {"SSCAN", Page},
    {"ZADD", NamedElements},
    {"ZINCRBY", NamedElements},
    {"ZREM", NamedElements},
    {"ZSCORE", OneSearch},
    {"ZMSCORE", AnsweredElements},
    {"ZRANK", OneSearch},
    {"ZREVRANK", OneSearch},
    {"ZCOUNT", OneSearch},
    {"ZREMRANGEBYSCORE", ErasedRange},
    {"ZREMRANGEBYRANK", ErasedRange},
    {"ZPOPMIN", TakenElements},
    {"ZPOPMAX", TakenElements},
    {"ZINTERSTORE", CombinedMembers},
    {"ZUNIONSTORE", CombinedMembers},
    {"ZRANGE", MembersBetween},
    {"ZRANGEBYSCORE", MembersBetween},
    {"ZREVRANGE", ElementsBetween},
    {"ZREVRANGEBYSCORE", MembersBetween},
    {"ZSCAN", Page},
});

}  // namespace

std::span<const CostRow> ValueCosts() { return kValueCosts; }

}  // namespace fairlock::command
