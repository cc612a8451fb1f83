// The commands for sorted sets, as in Redis, except those that select ranges.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/command/handlers/command_families.h"
#include "server/command/handlers/redis_arguments.h"
#include "server/command/handlers/value_access.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;
using values::SortedSet;

constexpr std::string_view kNotFloat = "value is not a valid float";

Opened<SortedSet> OpenSortedSet(Invocation& call) { return OpenValue<SortedSet>(call, 1); }

struct AddOptions {
  bool only_new = false;        // NX
  bool only_existing = false;   // XX
  bool only_greater = false;    // GT
  bool only_less = false;       // LT
  bool counts_changes = false;  // CH
  bool increments = false;      // INCR
};

struct Addition {
  AddOptions options;
  std::vector<SortedSet::Member> members;
};

// What ZADD and ZINCRBY have done.
struct Added {
  std::int64_t added = 0;
  std::int64_t changed = 0;
  std::optional<double> score;  // of the last member that was not left out
  bool is_nan = false;
};

bool* FindAddOption(AddOptions& options, std::string_view word) {
  if (EqualsIgnoreCase(word, "NX")) return &options.only_new;
  if (EqualsIgnoreCase(word, "XX")) return &options.only_existing;
  if (EqualsIgnoreCase(word, "GT")) return &options.only_greater;
  if (EqualsIgnoreCase(word, "LT")) return &options.only_less;
  if (EqualsIgnoreCase(word, "CH")) return &options.counts_changes;
  if (EqualsIgnoreCase(word, "INCR")) return &options.increments;
  return nullptr;
}

// Returns an empty text if the options fit together.
std::string_view MistakeIn(const AddOptions& options, std::size_t members) {
  if (options.only_new && options.only_existing) {
    return "XX and NX options at the same time are not compatible";
  }
  if ((options.only_greater && (options.only_new || options.only_less)) ||
      (options.only_less && options.only_new)) {
    return "GT, LT, and/or NX options at the same time are not compatible";
  }
  if (options.increments && members > 1) {
    return "INCR option supports a single increment-element pair";
  }
  return {};
}

// Reads pairs of a score and a member from `first` on. Returns nullopt after sending an error.
std::optional<std::vector<SortedSet::Member>> ReadMembers(Invocation& call, std::size_t first) {
  std::vector<SortedSet::Member> members;
  for (std::size_t i = first; i < call.arguments.size(); i += 2) {
    const auto score = ReadScore(call, call.arguments[i], kNotFloat);
    if (!score) return std::nullopt;
    members.push_back({*score, std::string(call.arguments[i + 1])});
  }
  return members;
}

// Returns nullopt after sending an error.
std::optional<Addition> ReadAddition(Invocation& call) {
  Addition addition;
  std::size_t first = 2;
  while (first < call.arguments.size()) {
    bool* option = FindAddOption(addition.options, call.arguments[first]);
    if (option == nullptr) break;
    *option = true;
    ++first;
  }
  const std::size_t rest = call.arguments.size() - first;
  if (rest == 0 || rest % 2 != 0) {
    RefuseSyntax(call.reply);
    return std::nullopt;
  }
  const std::string_view mistake = MistakeIn(addition.options, rest / 2);
  if (!mistake.empty()) {
    call.reply.Error(ErrorCode::kErr, mistake);
    return std::nullopt;
  }
  auto members = ReadMembers(call, first);
  if (!members) return std::nullopt;
  addition.members = *std::move(members);
  return addition;
}

// Gives a member its new score.
void AddMember(SortedSet& set, const SortedSet::Member& member, const AddOptions& options,
               Added& result) {
  const std::optional<double> score = set.ScoreOf(member.name);
  if (!score) {
    if (options.only_existing) return;
    ++result.added;
    result.score = member.score;
    set.Set(member.name, member.score);
    return;
  }
  if (options.only_new) return;
  const double next = options.increments ? *score + member.score : member.score;
  result.is_nan = std::isnan(next);
  if (result.is_nan) return;
  if ((options.only_less && next >= *score) || (options.only_greater && next <= *score)) return;
  if (next != *score) ++result.changed;
  result.score = next;
  set.Set(member.name, next);
}

void AddAndAnswer(Invocation& call, const Addition& addition) {
  const AddOptions& options = addition.options;
  Opened<SortedSet> opened = OpenSortedSet(call);
  if (opened.is_refused) return;
  Growth growth;
  std::vector<std::string_view> names;
  for (const SortedSet::Member& member : addition.members) {
    growth.Add(member.name.size());
    names.emplace_back(member.name);
  }
  Added result;
  values::Value* value = GrowValue(
      call, opened, growth,
      [&](SortedSet& set) {
        for (const auto& member : addition.members) AddMember(set, member, options, result);
      },
      [&](const SortedSet& set) {
        return options.only_existing ? SizeOf(set) : SizeWith(set, names);
      });
  if (opened.is_refused) return;
  if (result.is_nan) {
    return call.reply.Error(ErrorCode::kErr, "resulting score is not a number (NaN)");
  }
  if (value != nullptr && result.added + result.changed > 0) {
    call.server.values.NoticeChange(*value, options.increments ? "zincr" : "zadd",
                                    kSortedSetEvents);
  }
  if (!options.increments) {
    return call.reply.Integer(result.added + (options.counts_changes ? result.changed : 0));
  }
  if (result.score) {
    WriteScore(call, *result.score);
  } else {
    call.reply.Null();
  }
}

void ZAdd(Invocation& call) {
  if (const auto addition = ReadAddition(call)) AddAndAnswer(call, *addition);
}

void ZIncrBy(Invocation& call) {
  const auto step = ReadScore(call, call.arguments[2], kNotFloat);
  if (!step) return;
  AddAndAnswer(call, {.options = {.increments = true},
                      .members = {{*step, std::string(call.arguments[3])}}});
}

void ZRem(Invocation& call) {
  const Opened<SortedSet> opened = OpenSortedSet(call);
  if (opened.is_refused) return;
  std::size_t erased = 0;
  if (opened.value != nullptr) {
    erased = opened.content().EraseAll(call.arguments.views().subspan(2));
  }
  if (erased > 0) call.server.values.NoticeChange(*opened.value, "zrem", kSortedSetEvents);
  call.reply.Integer(static_cast<std::int64_t>(erased));
}

void WriteScoreOrNull(Invocation& call, const Opened<SortedSet>& opened, std::string_view member) {
  std::optional<double> score;
  if (opened.value != nullptr) score = opened.content().ScoreOf(member);
  if (score) {
    WriteScore(call, *score);
  } else {
    call.reply.Null();
  }
}

void ZScore(Invocation& call) {
  const Opened<SortedSet> opened = OpenSortedSet(call);
  if (opened.is_refused) return;
  WriteScoreOrNull(call, opened, call.arguments[2]);
}

void ZMScore(Invocation& call) {
  const Opened<SortedSet> opened = OpenSortedSet(call);
  if (opened.is_refused) return;
  const auto members = call.arguments.views().subspan(2);
  call.reply.ArrayHeader(members.size());
  for (const std::string_view member : members) {
    WriteScoreOrNull(call, opened, member);
  }
}

void WriteRank(Invocation& call, bool is_reversed) {
  const Opened<SortedSet> opened = OpenSortedSet(call);
  if (opened.is_refused) return;
  std::optional<std::size_t> rank;
  if (opened.value != nullptr) rank = opened.content().RankOf(call.arguments[2]);
  if (!rank) return call.reply.Null();
  const std::size_t before = is_reversed ? opened.content().size() - 1 - *rank : *rank;
  call.reply.Integer(static_cast<std::int64_t>(before));
}

void ZRank(Invocation& call) { WriteRank(call, false); }
void ZRevRank(Invocation& call) { WriteRank(call, true); }

void ZCard(Invocation& call) {
  const Opened<SortedSet> opened = OpenSortedSet(call);
  if (opened.is_refused) return;
  const std::size_t size = opened.value == nullptr ? 0 : opened.content().size();
  call.reply.Integer(static_cast<std::int64_t>(size));
}

// Removes members at one end, the outermost one first.
void PopMembers(Invocation& call, bool is_max) {
  if (call.arguments.size() > 3) return RefuseSyntax(call.reply);
  const bool is_counted = call.arguments.size() == 3;
  const auto count = is_counted ? ReadCount(call, call.arguments[2]) : 1;
  if (!count) return;
  const Opened<SortedSet> opened = OpenSortedSet(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr || *count == 0) return call.reply.ArrayHeader(0);
  SortedSet& set = opened.content();
  const std::size_t popped =
      std::min<std::uint64_t>(static_cast<std::uint64_t>(*count), set.size());
  if (RefusesElements(call, 2 * popped, LikelyBytes(set, popped)) || RefusesErasure(call, popped)) {
    return;
  }
  const bool is_nested = is_counted && call.reply.version() == protocol::RespVersion::kResp3;
  call.reply.ArrayHeader(is_nested ? popped : 2 * popped);
  auto member = set.At(is_max ? set.size() - 1 : 0);
  for (std::size_t left = popped; left > 0; --left) {
    if (is_nested) call.reply.ArrayHeader(2);
    call.reply.Bulk(member->name);
    WriteScore(call, member->score);
    if (left > 1) is_max ? --member : ++member;
  }
  const std::size_t first = is_max ? set.size() - popped : 0;
  set.EraseRanks(first, first + popped);
  call.server.values.NoticeChange(*opened.value, is_max ? "zpopmax" : "zpopmin", kSortedSetEvents);
}

void ZPopMin(Invocation& call) { PopMembers(call, false); }
void ZPopMax(Invocation& call) { PopMembers(call, true); }

void ZScan(Invocation& call) {
  if (!ReadCursor(call, call.arguments[2])) return;
  const Opened<SortedSet> opened = OpenSortedSet(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return BeginElementPage(call, 0);
  const auto scan = ReadElementScan(call);
  if (!scan) return;
  const SortedSet& set = opened.content();
  std::vector<const SortedSet::Member*> found;
  const std::uint64_t next = VisitPage(
      call, set.members(), set, *scan,
      [](const SortedSet::Member& member) -> std::string_view { return member.name; },
      [&](const SortedSet::Member& member) {
        found.push_back(&member);
        return member.name.size();
      });
  BeginElementPage(call, 2 * found.size(), next);
  for (const SortedSet::Member* member : found) {
    call.reply.Bulk(member->name);
    call.reply.Bulk(FormatDouble(member->score));
  }
}

constexpr std::uint32_t kGrowsSortedSet = kWrite | kTakesLock | kFast;
constexpr std::uint32_t kReadsScore = kReadOnly | kFast;

constexpr auto kSortedSetCommands = std::to_array<CommandSpec>({
    {"ZADD", ZAdd, -4, kGrowsSortedSet, With(kFirstKey, KeyEffect::kUpdate), "sorted-set",
     "key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]",
     "Adds members to a sorted set, which is created if the key is free, or changes their scores; "
     "replies with the number of new members",
     "O(members added * log(members))"},
    {"ZINCRBY", ZIncrBy, 4, kGrowsSortedSet, kFirstKey, "sorted-set", "key increment member",
     "Adds to the score of a member, 0 if it does not exist; replies with the sum",
     "O(log(members))"},
    {"ZREM", ZRem, -3, kWrite | kFast, With(kFirstKey, KeyEffect::kDeleteElements), "sorted-set",
     "key member [member ...]",
     "Removes members, and the sorted set with its last one; replies with the number removed",
     "O(members named * log(members))"},
    {"ZSCORE", ZScore, 3, kReadsScore, kFirstKey, "sorted-set", "key member",
     "The score of a member, or nil", "O(1)"},
    {"ZMSCORE", ZMScore, -3, kReadsScore, kFirstKey, "sorted-set", "key member [member ...]",
     "ZSCORE for each member", "O(members named)"},
    {"ZRANK", ZRank, 3, kReadsScore, kFirstKey, "sorted-set", "key member",
     "How many members come before this one, or nil", "O(log(members))"},
    {"ZREVRANK", ZRevRank, 3, kReadsScore, kFirstKey, "sorted-set", "key member",
     "How many members come after this one, or nil", "O(log(members))"},
    {"ZCARD", ZCard, 2, kReadsScore, With(kFirstKey, KeyEffect::kTest), "sorted-set", "key",
     "The number of members", "O(1)"},
    {"ZPOPMIN", ZPopMin, -2, kWrite | kFast, With(kFirstKey, KeyEffect::kAccessDelete),
     "sorted-set", "key [count]",
     "Removes the member with the lowest score, or up to count of them, and replies with each and "
     "its score",
     "O(count * log(members))"},
    {"ZPOPMAX", ZPopMax, -2, kWrite | kFast, With(kFirstKey, KeyEffect::kAccessDelete),
     "sorted-set", "key [count]", "ZPOPMIN with the highest scores", "O(count * log(members))"},
    {"ZSCAN", ZScan, -3, kReadOnly, kFirstKey, "sorted-set",
     "key cursor [MATCH glob] [COUNT count]",
     "A page of the members that match, and their scores; all of them if there are few",
     "O(count)"},
});

}  // namespace

std::span<const CommandSpec> SortedSetCommands() { return kSortedSetCommands; }

}  // namespace fairlock::command
