// The commands for lists, as in Redis, except those that move elements or wait for them.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "server/command/delivery/list_delivery.h"
#include "server/command/handlers/command_costs.h"
#include "server/command/handlers/command_families.h"
#include "server/command/handlers/redis_arguments.h"
#include "server/command/handlers/value_access.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;
using values::List;
using values::ListEnd;

Opened<List> OpenList(Invocation& call) { return OpenValue<List>(call, 1); }

void Push(Invocation& call, ListEnd end) {
  Opened<List> opened = OpenList(call);
  if (opened.is_refused) return;
  const auto elements = call.arguments.views().subspan(2);
  Growth growth;
  for (const std::string_view element : elements) growth.Add(element.size());
  values::Value* value = GrowValue(call, opened, growth, [&](List& list) {
    for (const std::string_view element : elements) list.Push(end, element);
  });
  if (value == nullptr) return;
  call.reply.Integer(static_cast<std::int64_t>(value->size()));
  call.server.values.NoticeChange(*value, end == ListEnd::kLeft ? "lpush" : "rpush", kListEvents);
  call.server.values.waiters().NoticePush(opened.key);
}

void LPush(Invocation& call) { Push(call, ListEnd::kLeft); }
void RPush(Invocation& call) { Push(call, ListEnd::kRight); }

void PushIfThere(Invocation& call, ListEnd end) {
  const Opened<List> opened = OpenList(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return call.reply.Integer(0);
  Push(call, end);
}

void LPushX(Invocation& call) { PushIfThere(call, ListEnd::kLeft); }
void RPushX(Invocation& call) { PushIfThere(call, ListEnd::kRight); }

void PopOne(Invocation& call, ListEnd end) {
  const Opened<List> opened = OpenList(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return call.reply.Null();
  call.reply.Bulk(PopElement(call.server.values, *opened.value, end));
}

void PopMany(Invocation& call, ListEnd end) {
  const auto count = ReadCount(call, call.arguments[2]);
  if (!count) return;
  const Opened<List> opened = OpenList(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return call.reply.NullArray();
  List& list = opened.content();
  const std::size_t popped =
      std::min<std::uint64_t>(static_cast<std::uint64_t>(*count), list.size());
  if (RefusesElements(call, popped, LikelyBytes(list, popped)) || RefusesErasure(call, popped)) {
    return;
  }
  call.reply.ArrayHeader(popped);
  if (popped == 0) return;
  for (std::size_t i = 0; i < popped; ++i) call.reply.Bulk(list.Pop(end));
  call.server.values.NoticeChange(*opened.value, end == ListEnd::kLeft ? "lpop" : "rpop",
                                  kListEvents);
}

void Pop(Invocation& call, ListEnd end, std::string_view name) {
  if (call.arguments.size() > 3) return RefuseArity(*call.server.table.Find(name), call.reply);
  call.arguments.size() == 3 ? PopMany(call, end) : PopOne(call, end);
}

void LPop(Invocation& call) { Pop(call, ListEnd::kLeft, "LPOP"); }
void RPop(Invocation& call) { Pop(call, ListEnd::kRight, "RPOP"); }

void LLen(Invocation& call) {
  const Opened<List> opened = OpenList(call);
  if (opened.is_refused) return;
  const std::size_t size = opened.value == nullptr ? 0 : opened.content().size();
  call.reply.Integer(static_cast<std::int64_t>(size));
}

void LRange(Invocation& call) {
  const auto first = ReadRedisInteger(call, call.arguments[2]);
  if (!first) return;
  const auto last = ReadRedisInteger(call, call.arguments[3]);
  if (!last) return;
  const Opened<List> opened = OpenList(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return call.reply.ArrayHeader(0);
  const List& list = opened.content();
  const IndexRange range = RangeOf(*first, *last, list.size());
  if (RefusesRange(call, list, range, [&](std::size_t i) { return list.at(i).size(); })) return;
  call.reply.ArrayHeader(range.size());
  for (std::size_t i = range.first; i < range.end; ++i) call.reply.Bulk(list.at(i));
}

void LIndex(Invocation& call) {
  const Opened<List> opened = OpenList(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return call.reply.Null();
  const auto index = ReadRedisInteger(call, call.arguments[2]);
  if (!index) return;
  const auto size = static_cast<std::int64_t>(opened.content().size());
  const std::int64_t at = *index < 0 ? *index + size : *index;
  if (at < 0 || at >= size) return call.reply.Null();
  call.reply.Bulk(opened.content().at(static_cast<std::size_t>(at)));
}

void LSet(Invocation& call) {
  Opened<List> opened = OpenList(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return call.reply.Error(ErrorCode::kErr, "no such key");
  const auto index = ReadRedisInteger(call, call.arguments[2]);
  if (!index) return;
  const auto size = static_cast<std::int64_t>(opened.content().size());
  const std::int64_t signed_at = *index < 0 ? *index + size : *index;
  if (signed_at < 0 || signed_at >= size) {
    return call.reply.Error(ErrorCode::kErr, "index out of range");
  }
  const auto at = static_cast<std::size_t>(signed_at);
  const std::string_view element = call.arguments[3];
  const std::size_t bytes = element.size();
  values::Value* value = GrowValue(
      call, opened, Growth{.elements = 0, .bytes = bytes, .longest = bytes},
      [&](List& list) { list.Replace(at, element); },
      [&](const List& list) {
        return Size{list.size(), list.bytes() - list.at(at).size() + bytes};
      });
  if (value == nullptr) return;
  call.server.values.NoticeChange(*value, "lset", kListEvents);
  call.reply.Ok();
}

void LInsert(Invocation& call) {
  const bool is_behind = EqualsIgnoreCase(call.arguments[2], "AFTER");
  if (!is_behind && !EqualsIgnoreCase(call.arguments[2], "BEFORE")) {
    return RefuseSyntax(call.reply);
  }
  Opened<List> opened = OpenList(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return call.reply.Integer(0);
  if (RefusesCost(call)) return;
  const List& list = opened.content();
  std::size_t at = 0;
  while (at < list.size() && list.at(at) != call.arguments[3]) ++at;
  if (at == list.size()) return call.reply.Integer(-1);
  if (is_behind) ++at;
  const std::string_view element = call.arguments[4];
  values::Value* value = GrowValue(call, opened, Growth{1, element.size()},
                                   [&](List& changed) { changed.Insert(at, element); });
  if (value == nullptr) return;
  call.reply.Integer(static_cast<std::int64_t>(value->size()));
  call.server.values.NoticeChange(*value, "linsert", kListEvents);
}

void LTrim(Invocation& call) {
  const auto first = ReadRedisInteger(call, call.arguments[2]);
  if (!first) return;
  const auto last = ReadRedisInteger(call, call.arguments[3]);
  if (!last) return;
  const Opened<List> opened = OpenList(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return call.reply.Ok();
  List& list = opened.content();
  const IndexRange kept = RangeOf(*first, *last, list.size());
  const std::size_t erased = list.size() - kept.size();
  if (kept.size() > 0 && RefusesErasure(call, erased)) return;
  call.reply.Ok();
  if (kept.size() == 0) {
    return call.server.values.NoticeEnd(*opened.value, "ltrim", kListEvents);
  }
  const std::size_t behind = list.size() - kept.end;
  for (std::size_t i = 0; i < behind; ++i) list.Pop(ListEnd::kRight);
  for (std::size_t i = 0; i < kept.first; ++i) list.Pop(ListEnd::kLeft);
  if (erased > 0) call.server.values.NoticeChange(*opened.value, "ltrim", kListEvents);
}

void LRem(Invocation& call) {
  const auto count = ReadRedisInteger(call, call.arguments[2]);
  if (!count) return;
  const Opened<List> opened = OpenList(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return call.reply.Integer(0);
  if (RefusesCost(call)) return;
  const std::size_t erased = opened.content().EraseEqual(call.arguments[3], *count);
  if (erased > 0) call.server.values.NoticeChange(*opened.value, "lrem", kListEvents);
  call.reply.Integer(static_cast<std::int64_t>(erased));
}

struct PositionQuery {
  std::int64_t rank = 1;
  std::optional<std::int64_t> count;
  std::int64_t compared_max = 0;  // 0: all
};

// Returns nullopt after sending an error.
std::optional<std::int64_t> ReadRank(Invocation& call, std::string_view text) {
  const auto rank = ReadRedisInteger(call, text);
  if (!rank) return std::nullopt;
  // Redis 7.0 cannot negate this one, and finds the first match from the right.
  if (*rank == std::numeric_limits<std::int64_t>::min()) return -1;
  if (*rank != 0) return rank;
  call.reply.Error(ErrorCode::kErr,
                   "RANK can't be zero: use 1 to start from the first match, 2 from the second ... "
                   "or use negative to start from the end of the list");
  return std::nullopt;
}

std::optional<std::int64_t> ReadNotNegative(Invocation& call, std::string_view text,
                                            std::string_view error) {
  const auto number = ParseRedisInteger(text);
  if (number && *number >= 0) return number;
  call.reply.Error(ErrorCode::kErr, error);
  return std::nullopt;
}

// Returns nullopt after sending an error.
std::optional<PositionQuery> ReadPositionQuery(Invocation& call) {
  PositionQuery query;
  for (std::size_t i = 3; i < call.arguments.size(); i += 2) {
    const std::string_view option = call.arguments[i];
    const bool has_value = i + 1 < call.arguments.size();
    if (has_value && EqualsIgnoreCase(option, "RANK")) {
      const auto rank = ReadRank(call, call.arguments[i + 1]);
      if (!rank) return std::nullopt;
      query.rank = *rank;
    } else if (has_value && EqualsIgnoreCase(option, "COUNT")) {
      query.count = ReadNotNegative(call, call.arguments[i + 1], "COUNT can't be negative");
      if (!query.count) return std::nullopt;
    } else if (has_value && EqualsIgnoreCase(option, "MAXLEN")) {
      const auto max = ReadNotNegative(call, call.arguments[i + 1], "MAXLEN can't be negative");
      if (!max) return std::nullopt;
      query.compared_max = *max;
    } else {
      RefuseSyntax(call.reply);
      return std::nullopt;
    }
  }
  return query;
}

std::vector<std::size_t> FindPositions(const List& list, std::string_view element,
                                       const PositionQuery& query) {
  const std::int64_t wanted = query.count.value_or(1);
  const bool is_from_right = query.rank < 0;
  std::int64_t skipped = (is_from_right ? -query.rank : query.rank) - 1;
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (query.compared_max != 0 && static_cast<std::int64_t>(i) >= query.compared_max) break;
    const std::size_t at = is_from_right ? list.size() - 1 - i : i;
    if (list.at(at) != element) continue;
    if (skipped > 0) {
      --skipped;
      continue;
    }
    found.push_back(at);
    if (wanted != 0 && static_cast<std::int64_t>(found.size()) >= wanted) break;
  }
  return found;
}

void LPos(Invocation& call) {
  const auto query = ReadPositionQuery(call);
  if (!query) return;
  const Opened<List> opened = OpenList(call);
  if (opened.is_refused) return;
  if (opened.value != nullptr && RefusesCost(call)) return;
  std::vector<std::size_t> found;
  if (opened.value != nullptr) found = FindPositions(opened.content(), call.arguments[2], *query);
  if (!query->count) {
    if (found.empty()) return call.reply.Null();
    return call.reply.Integer(static_cast<std::int64_t>(found.front()));
  }
  call.reply.ArrayHeader(found.size());
  for (const std::size_t at : found) call.reply.Integer(static_cast<std::int64_t>(at));
}

constexpr std::uint32_t kGrowsList = kWrite | kTakesLock | kFast;
constexpr std::uint32_t kPops = kWrite | kFast;

constexpr auto kListCommands = std::to_array<CommandSpec>({
    {"LPUSH", LPush, -3, kGrowsList, With(kFirstKey, KeyEffect::kAddElements), "list",
     "key element [element ...]",
     "Adds elements to the left end of a list, which is created if the key is free; replies with "
     "its length",
     "O(elements added)"},
    {"RPUSH", RPush, -3, kGrowsList, With(kFirstKey, KeyEffect::kAddElements), "list",
     "key element [element ...]", "LPUSH at the right end", "O(elements added)"},
    {"LPUSHX", LPushX, -3, kGrowsList, With(kFirstKey, KeyEffect::kAddElements), "list",
     "key element [element ...]", "LPUSH if the list exists, otherwise 0", "O(elements added)"},
    {"RPUSHX", RPushX, -3, kGrowsList, With(kFirstKey, KeyEffect::kAddElements), "list",
     "key element [element ...]", "RPUSH if the list exists, otherwise 0", "O(elements added)"},
    {"LPOP", LPop, -2, kPops, With(kFirstKey, KeyEffect::kAccessDelete), "list", "key [count]",
     "Removes the element at the left end, or up to count elements, and replies with it; nil if "
     "there is none",
     "O(count)"},
    {"RPOP", RPop, -2, kPops, With(kFirstKey, KeyEffect::kAccessDelete), "list", "key [count]",
     "LPOP at the right end", "O(count)"},
    {"LLEN", LLen, 2, kReadOnly | kFast, With(kFirstKey, KeyEffect::kTest), "list", "key",
     "The length of a list", "O(1)"},
    {"LRANGE", LRange, 4, kReadOnly, kFirstKey, "list", "key first last",
     "The elements from one index to another; negative indexes count from the right",
     "O(elements returned)"},
    {"LINDEX", LIndex, 3, kReadOnly, kFirstKey, "list", "key index",
     "The element at an index, or nil", "O(1)"},
    {"LSET", LSet, 4, kWrite | kTakesLock, With(kFirstKey, KeyEffect::kUpdate), "list",
     "key index element", "Replaces the element at an index", "O(1)"},
    {"LINSERT", LInsert, 5, kWrite | kTakesLock, With(kFirstKey, KeyEffect::kAddElements), "list",
     "key BEFORE|AFTER pivot element",
     "Inserts an element beside the first one that is equal to pivot; replies with the new length, "
     "or -1 if there is no such element",
     "O(elements)"},
    {"LTRIM", LTrim, 4, kWrite, With(kFirstKey, KeyEffect::kDeleteElements), "list",
     "key first last", "Removes all elements except those that LRANGE returns",
     "O(elements removed)"},
    {"LREM", LRem, 4, kWrite, With(kFirstKey, KeyEffect::kDeleteElements), "list",
     "key count element",
     "Removes elements equal to the given one: count of them from the left, -count of them from "
     "the right, or with 0 all; replies with the number removed",
     "O(elements)"},
    {"LPOS", LPos, -3, kReadOnly, kFirstKey, "list",
     "key element [RANK rank] [COUNT count] [MAXLEN length]",
     "The index of the first element equal to the given one, or nil; with COUNT, the indexes of "
     "that many",
     "O(elements)"},
});

}  // namespace

std::span<const CommandSpec> ListCommands() { return kListCommands; }

}  // namespace fairlock::command
