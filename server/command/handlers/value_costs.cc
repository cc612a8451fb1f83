// What commands cost that show or change small values.

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <variant>

#include "server/command/handlers/cost_parts.h"
#include "server/command/server_parts.h"
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

Cost SearchedValue(const CostQuestion& asked) {
  return Plus(asked, {0, SizeOfValue(asked, 1).elements * kLookWork});
}

// Shows elements, at most all of them.
Cost Elements(const CostQuestion& asked) {
  const ValueSize size = SizeOfValue(asked, 1);
  return Plus(asked, {size.bytes + size.elements * 2 * kFrame, size.elements * kElementWork});
}

// The same with scores.
Cost Members(const CostQuestion& asked) {
  const ValueSize size = SizeOfValue(asked, 1);
  constexpr std::uint64_t kScoreBytes = 32;
  return Plus(asked, {size.bytes + size.elements * (2 * kFrame + kScoreBytes),
                      size.elements * 2 * kElementWork});
}

// Shows one element, after looking at all of them.
Cost OneElement(const CostQuestion& asked) {
  const ValueSize size = SizeOfValue(asked, 1);
  return Plus(asked, {size.bytes, size.elements * kLookWork});
}

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
  return Plus(asked, {bytes, SizeOfValue(asked, 1).elements * kLookWork + names * 5 * kWriteWork});
}

// Changes a value, which is copied if it may exceed a bound.
Cost ChangedValue(const CostQuestion& asked) {
  const ValueSize size = SizeOfValue(asked, 1);
  const values::ValueLimits& limits = asked.server.values.limits();
  const bool may_exceed = size.elements + asked.arguments.size() > limits.elements_max ||
                          size.bytes + BytesFrom(asked, 2) * 2 > limits.bytes_max;
  return Plus(asked, {0, size.elements * (may_exceed ? kElementWork : kLookWork) +
                             asked.arguments.size() * 5 * kWriteWork});
}

Cost ChangedFloat(const CostQuestion& asked) {
  Cost cost = ChangedValue(asked);
  cost += {kFloatBytes, kFloatWork};
  return cost;
}

// Moves up to half of the elements, or all if the value is copied.
Cost RebuiltList(const CostQuestion& asked) {
  return Plus(asked, {0, SizeOfValue(asked, 1).elements * kElementWork});
}

// Looks at each element for names, and writes a short reply for each of them.
Cost NamedElements(const CostQuestion& asked) {
  const std::uint64_t names = asked.arguments.size() - 2;
  return Plus(asked, {names * (kFrame + 20),
                      SizeOfValue(asked, 1).elements * kLookWork + names * 5 * kWriteWork});
}

// SRANDMEMBER: with a negative count, as many elements as it says.
Cost RandomElements(const CostQuestion& asked) {
  if (asked.arguments.size() < 3) return OneElement(asked);
  const auto count = ParseInteger(asked.arguments[2]);
  const ValueSize size = SizeOfValue(asked, 1);
  const bool is_error = !count || *count == std::numeric_limits<std::int64_t>::min();
  if (is_error || size.elements == 0) return Small(asked);
  if (*count >= 0) return Elements(asked);
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
  if (asked.arguments.size() > 2) return Members(asked);
  const ValueSize size = SizeOfValue(asked, 1);
  return Plus(asked,
              {2 * size.bytes / std::max<std::uint64_t>(size.elements, 1) + asked.earlier.longest,
               kSmallWork + size.elements * kLookWork});
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
    cost.reply_bytes = std::max(cost.reply_bytes, size.bytes + engine::kKeyBytesMax);
    cost.work += 2 * kSmallWork;
  }
  return cost;
}

constexpr auto kValueCosts = std::to_array<CostRow>({
    {"EXPIRE", SearchedValue},
    {"PEXPIRE", SearchedValue},
    {"EXPIREAT", SearchedValue},
    {"PEXPIREAT", SearchedValue},
    {"PERSIST", SearchedValue},
    {"HSET", ChangedValue},
    {"HMSET", ChangedValue},
    {"HSETNX", ChangedValue},
    {"HINCRBY", ChangedValue},
    {"HINCRBYFLOAT", ChangedFloat},
    {"HDEL", SearchedValue},
    {"HGET", NamedFields},
    {"HMGET", NamedFields},
    {"HEXISTS", SearchedValue},
    {"HGETALL", Elements},
    {"HKEYS", Elements},
    {"HVALS", Elements},
    {"HSCAN", Elements},
    {"LPUSH", ChangedValue},
    {"LPUSHX", ChangedValue},
    {"RPUSH", ChangedValue},
    {"RPUSHX", ChangedValue},
    {"LREM", SearchedValue},
    {"LSET", RebuiltList},
    {"LINSERT", RebuiltList},
    {"LTRIM", RebuiltList},
    {"LPOP", TakenElements},
    {"RPOP", TakenElements},
    {"LRANGE", Elements},
    {"LINDEX", OneElement},
    {"LPOS", Elements},
    {"LMOVE", MovedElement},
    {"RPOPLPUSH", MovedElement},
    {"BLMOVE", MovedElement},
    {"BRPOPLPUSH", MovedElement},
    {"BLPOP", FirstElement},
    {"BRPOP", FirstElement},
    {"SADD", ChangedValue},
    {"SREM", SearchedValue},
    {"SISMEMBER", SearchedValue},
    {"SMISMEMBER", NamedElements},
    {"SPOP", TakenElements},
    {"SRANDMEMBER", RandomElements},
    {"SMEMBERS", Elements},
    {"SSCAN", Elements},
    {"ZADD", ChangedValue},
    {"ZINCRBY", ChangedValue},
    {"ZREM", SearchedValue},
    {"ZSCORE", SearchedValue},
    {"ZMSCORE", NamedElements},
    {"ZRANK", SearchedValue},
    {"ZREVRANK", SearchedValue},
    {"ZCOUNT", SearchedValue},
    {"ZREMRANGEBYSCORE", SearchedValue},
    {"ZREMRANGEBYRANK", SearchedValue},
    {"ZPOPMIN", TakenElements},
    {"ZPOPMAX", TakenElements},
    {"ZINTERSTORE", CombinedMembers},
    {"ZUNIONSTORE", CombinedMembers},
    {"ZRANGE", Members},
    {"ZRANGEBYSCORE", Members},
    {"ZREVRANGE", Members},
    {"ZREVRANGEBYSCORE", Members},
    {"ZSCAN", Members},
});

}  // namespace

std::span<const CostRow> ValueCosts() { return kValueCosts; }

}  // namespace fairlock::command
