// The commands that select a range of a sorted set, as in Redis.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "server/command/handlers/command_families.h"
#include "server/command/handlers/redis_arguments.h"
#include "server/command/handlers/sorted_set_ranges.h"
#include "server/command/handlers/value_access.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;
using values::SortedSet;

struct RangeOptions {
  std::optional<RangeKind> kind;
  bool is_reversed = false;
  bool is_limited = false;
  std::int64_t offset = 0;
  std::int64_t count = -1;  // negative: all
  bool with_scores = false;
};

// Reads LIMIT, whose first value is at `i`. Returns false after sending an error.
bool ReadLimit(Invocation& call, std::size_t i, RangeOptions& options) {
  const auto offset = ReadRedisInteger(call, call.arguments[i]);
  if (!offset) return false;
  const auto count = ReadRedisInteger(call, call.arguments[i + 1]);
  if (!count) return false;
  options.offset = *offset;
  options.count = *count;
  options.is_limited = *count != -1;
  return true;
}

// Takes BYSCORE, BYLEX and REV, which only ZRANGE has.
bool TakeRangeWord(std::string_view word, bool is_general, RangeOptions& options) {
  if (!is_general) return false;
  if (EqualsIgnoreCase(word, "REV") && !options.is_reversed) {
    options.is_reversed = true;
  } else if (EqualsIgnoreCase(word, "BYSCORE") && !options.kind) {
    options.kind = RangeKind::kScore;
  } else if (EqualsIgnoreCase(word, "BYLEX") && !options.kind) {
    options.kind = RangeKind::kMember;
  } else {
    return false;
  }
  return true;
}

// Returns nullopt after sending an error. `options` has what the command implies; if that includes
// a kind, the request cannot choose one.
std::optional<RangeOptions> ReadRangeOptions(Invocation& call, RangeOptions options) {
  const bool is_general = !options.kind;
  for (std::size_t i = 4; i < call.arguments.size(); ++i) {
    const std::string_view word = call.arguments[i];
    if (EqualsIgnoreCase(word, "WITHSCORES")) {
      options.with_scores = true;
    } else if (EqualsIgnoreCase(word, "LIMIT") && i + 2 < call.arguments.size()) {
      if (!ReadLimit(call, i + 1, options)) return std::nullopt;
      i += 2;
    } else if (!TakeRangeWord(word, is_general, options)) {
      RefuseSyntax(call.reply);
      return std::nullopt;
    }
  }
  const RangeKind chosen = options.kind.value_or(RangeKind::kRank);
  if (options.is_limited && chosen == RangeKind::kRank) {
    call.reply.Error(ErrorCode::kErr,
                     "syntax error, LIMIT is only supported in combination with either BYSCORE or "
                     "BYLEX");
    return std::nullopt;
  }
  if (options.with_scores && chosen == RangeKind::kMember) {
    call.reply.Error(ErrorCode::kErr,
                     "syntax error, WITHSCORES not supported in combination with BYLEX");
    return std::nullopt;
  }
  if (chosen == RangeKind::kRank) options.offset = 0;  // Redis ignores LIMIT with a count of -1
  options.kind = chosen;
  return options;
}

// The part of the ranks that LIMIT selects, counted from the side at which the reply begins.
IndexRange Limited(IndexRange ranks, const RangeOptions& options) {
  const auto size = static_cast<std::int64_t>(ranks.size());
  if (options.offset < 0 || options.offset >= size) return {};
  const std::int64_t rest = size - options.offset;
  const std::int64_t taken = options.count < 0 ? rest : std::min(options.count, rest);
  const auto skipped = static_cast<std::size_t>(options.offset);
  const auto length = static_cast<std::size_t>(taken);
  if (options.is_reversed) return {ranks.end - skipped - length, ranks.end - skipped};
  return {ranks.first + skipped, ranks.first + skipped + length};
}

void WriteRange(Invocation& call, const SortedSet& set, const IndexRange& ranks,
                const RangeOptions& options) {
  const bool is_nested =
      options.with_scores && call.reply.version() == protocol::RespVersion::kResp3;
  const bool is_flat = options.with_scores && !is_nested;
  if (ranks.size() == 0) return call.reply.ArrayHeader(0);
  auto member = set.At(options.is_reversed ? ranks.end - 1 : ranks.first);
  auto counted = set.At(ranks.first);
  const std::size_t score_replies = options.with_scores ? ranks.size() : 0;
  const auto bytes_of = [&](std::size_t) { return (counted++)->name.size(); };
  if (RefusesRange(call, set, ranks, bytes_of) || RefusesElements(call, score_replies, 0)) return;
  call.reply.ArrayHeader(ranks.size() * (is_flat ? 2 : 1));
  for (std::size_t left = ranks.size(); left > 0; --left) {
    if (is_nested) call.reply.ArrayHeader(2);
    call.reply.Bulk(member->name);
    if (options.with_scores) WriteScore(call, member->score);
    if (left > 1) options.is_reversed ? --member : ++member;
  }
}

// Opens the sorted set, and writes the part of it that `select` returns.
template <typename Select>
void AnswerRange(Invocation& call, const RangeOptions& options, Select select) {
  const Opened<SortedSet> opened = OpenValue<SortedSet>(call, 1);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return call.reply.ArrayHeader(0);
  const SortedSet& set = opened.content();
  WriteRange(call, set, Limited(select(set), options), options);
}

void RangeByRank(Invocation& call, const RangeOptions& options) {
  const auto first = ReadRedisInteger(call, call.arguments[2]);
  if (!first) return;
  const auto last = ReadRedisInteger(call, call.arguments[3]);
  if (!last) return;
  AnswerRange(call, options, [&](const SortedSet& set) {
    IndexRange ranks = RangeOf(*first, *last, set.size());
    if (options.is_reversed && ranks.size() > 0) {
      ranks = {set.size() - ranks.end, set.size() - ranks.first};
    }
    return ranks;
  });
}

void Range(Invocation& call, const RangeOptions& implied) {
  const auto options = ReadRangeOptions(call, implied);
  if (!options) return;
  if (options->kind == RangeKind::kRank) return RangeByRank(call, *options);
  std::string_view min = call.arguments[2];
  std::string_view max = call.arguments[3];
  if (options->is_reversed) std::swap(min, max);
  if (options->kind == RangeKind::kScore) {
    const auto bounds = ReadScoreBounds(call, min, max);
    if (!bounds) return;
    return AnswerRange(call, *options, [&](const SortedSet& set) { return RanksOf(set, *bounds); });
  }
  const auto bounds = ReadMemberBounds(call, min, max);
  if (!bounds) return;
  AnswerRange(call, *options, [&](const SortedSet& set) { return RanksOf(set, *bounds); });
}

RangeOptions Implied(RangeKind kind, bool is_reversed) {
  RangeOptions options;
  options.kind = kind;
  options.is_reversed = is_reversed;
  return options;
}

void ZRange(Invocation& call) { Range(call, {}); }
void ZRevRange(Invocation& call) { Range(call, Implied(RangeKind::kRank, true)); }
void ZRangeByScore(Invocation& call) { Range(call, Implied(RangeKind::kScore, false)); }
void ZRevRangeByScore(Invocation& call) { Range(call, Implied(RangeKind::kScore, true)); }

void ZCount(Invocation& call) {
  const auto bounds = ReadScoreBounds(call, call.arguments[2], call.arguments[3]);
  if (!bounds) return;
  const Opened<SortedSet> opened = OpenValue<SortedSet>(call, 1);
  if (opened.is_refused) return;
  const std::size_t count = opened.value == nullptr ? 0 : RanksOf(opened.content(), *bounds).size();
  call.reply.Integer(static_cast<std::int64_t>(count));
}

// Removes the members whose ranks `select` returns.
template <typename Select>
void RemoveRange(Invocation& call, std::string_view event, Select select) {
  const Opened<SortedSet> opened = OpenValue<SortedSet>(call, 1);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return call.reply.Integer(0);
  SortedSet& set = opened.content();
  const IndexRange ranks = select(set);
  const bool is_whole = ranks.size() == set.size();
  if (!is_whole && RefusesErasure(call, ranks.size())) return;
  call.reply.Integer(static_cast<std::int64_t>(ranks.size()));
  if (is_whole) return call.server.values.NoticeEnd(*opened.value, event, kSortedSetEvents);
  set.EraseRanks(ranks.first, ranks.end);
  if (ranks.size() > 0) call.server.values.NoticeChange(*opened.value, event, kSortedSetEvents);
}

void ZRemRangeByScore(Invocation& call) {
  const auto bounds = ReadScoreBounds(call, call.arguments[2], call.arguments[3]);
  if (!bounds) return;
  RemoveRange(call, "zremrangebyscore",
              [&](const SortedSet& set) { return RanksOf(set, *bounds); });
}

void ZRemRangeByRank(Invocation& call) {
  const auto first = ReadRedisInteger(call, call.arguments[2]);
  if (!first) return;
  const auto last = ReadRedisInteger(call, call.arguments[3]);
  if (!last) return;
  RemoveRange(call, "zremrangebyrank",
              [&](const SortedSet& set) { return RangeOf(*first, *last, set.size()); });
}

constexpr auto kSortedSetRangeCommands = std::to_array<CommandSpec>({
    {"ZRANGE", ZRange, -4, kReadOnly, kFirstKey, "sorted-set",
     "key first last [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]",
     "The members from one rank to another, or with BYSCORE from one score to another, in "
     "ascending order",
     "O(log(members) + members returned)"},
    {"ZRANGEBYSCORE", ZRangeByScore, -4, kReadOnly, kFirstKey, "sorted-set",
     "key min max [WITHSCORES] [LIMIT offset count]", "ZRANGE with BYSCORE",
     "O(log(members) + members returned)"},
    {"ZREVRANGE", ZRevRange, -4, kReadOnly, kFirstKey, "sorted-set", "key first last [WITHSCORES]",
     "ZRANGE with REV", "O(log(members) + members returned)"},
    {"ZREVRANGEBYSCORE", ZRevRangeByScore, -4, kReadOnly, kFirstKey, "sorted-set",
     "key max min [WITHSCORES] [LIMIT offset count]", "ZRANGE with BYSCORE and REV",
     "O(log(members) + members returned)"},
    {"ZCOUNT", ZCount, 4, kReadOnly | kFast, kFirstKey, "sorted-set", "key min max",
     "The number of members with a score from min to max", "O(log(members))"},
    {"ZREMRANGEBYSCORE", ZRemRangeByScore, 4, kWrite, With(kFirstKey, KeyEffect::kDeleteElements),
     "sorted-set", "key min max",
     "Removes the members with a score from min to max; replies with the number removed",
     "O(log(members) * members removed)"},
    {"ZREMRANGEBYRANK", ZRemRangeByRank, 4, kWrite, With(kFirstKey, KeyEffect::kDeleteElements),
     "sorted-set", "key first last",
     "Removes the members from one rank to another; replies with the number removed",
     "O(log(members) * members removed)"},
});

}  // namespace

std::span<const CommandSpec> SortedSetRangeCommands() { return kSortedSetRangeCommands; }

}  // namespace fairlock::command
