// The commands that combine sorted sets and store the result, as in Redis.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "server/command/handlers/command_costs.h"
#include "server/command/handlers/command_families.h"
#include "server/command/handlers/redis_arguments.h"
#include "server/command/handlers/value_access.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;
using values::SortedSet;

enum class Aggregate : std::uint8_t { kSum, kMin, kMax };

struct Source {
  const values::Value* value = nullptr;  // a set or a sorted set; null: the key is free
  double weight = 1;

  std::size_t size() const { return value == nullptr ? 0 : value->size(); }
};

struct Combination {
  std::vector<Source> sources;
  Aggregate aggregate = Aggregate::kSum;
};

using Scores = std::unordered_map<std::string_view, double>;

// Returns the number of keys; nullopt after sending an error.
std::optional<std::size_t> ReadKeyCount(Invocation& call, std::string_view command) {
  const auto count = ReadRedisInteger(call, call.arguments[2]);
  if (!count) return std::nullopt;
  if (*count < 1) {
    call.reply.Error(ErrorCode::kErr,
                     "at least 1 input key is needed for '" + std::string(command) + "' command");
    return std::nullopt;
  }
  if (static_cast<std::uint64_t>(*count) > call.arguments.size() - 3) {
    RefuseSyntax(call.reply);
    return std::nullopt;
  }
  return static_cast<std::size_t>(*count);
}

// Returns nullopt after sending an error.
std::optional<Source> OpenSource(Invocation& call, std::size_t position) {
  bool is_refused = false;
  const values::Value* value = FindValue(call, KeyOf(call, position), is_refused);
  if (is_refused) return std::nullopt;
  if (value != nullptr && !std::holds_alternative<SortedSet>(value->content) &&
      !std::holds_alternative<values::Set>(value->content)) {
    RefuseType(call.reply);
    return std::nullopt;
  }
  return Source{value};
}

// Reads WEIGHTS, whose first value is at `i`. Returns false after sending an error.
bool ReadWeights(Invocation& call, std::size_t i, std::vector<Source>& sources) {
  for (Source& source : sources) {
    const auto weight = ReadScore(call, call.arguments[i++], "weight value is not a float");
    if (!weight) return false;
    source.weight = *weight;
  }
  return true;
}

std::optional<Aggregate> FindAggregate(std::string_view word) {
  if (EqualsIgnoreCase(word, "SUM")) return Aggregate::kSum;
  if (EqualsIgnoreCase(word, "MIN")) return Aggregate::kMin;
  if (EqualsIgnoreCase(word, "MAX")) return Aggregate::kMax;
  return std::nullopt;
}

// Returns nullopt after sending an error.
std::optional<Combination> ReadCombination(Invocation& call, std::string_view command) {
  const auto count = ReadKeyCount(call, command);
  if (!count) return std::nullopt;
  Combination combination;
  for (std::size_t i = 3; i < 3 + *count; ++i) {
    const auto source = OpenSource(call, i);
    if (!source) return std::nullopt;
    combination.sources.push_back(*source);
  }
  for (std::size_t i = 3 + *count; i < call.arguments.size();) {
    const std::size_t behind = call.arguments.size() - 1 - i;
    std::optional<Aggregate> aggregate;
    if (behind >= *count && EqualsIgnoreCase(call.arguments[i], "WEIGHTS")) {
      if (!ReadWeights(call, i + 1, combination.sources)) return std::nullopt;
      i += 1 + *count;
      continue;
    }
    if (behind >= 1 && EqualsIgnoreCase(call.arguments[i], "AGGREGATE")) {
      aggregate = FindAggregate(call.arguments[i + 1]);
    }
    if (!aggregate) {
      RefuseSyntax(call.reply);
      return std::nullopt;
    }
    combination.aggregate = *aggregate;
    i += 2;
  }
  // As in Redis, which shows in sums that depend on their order.
  std::ranges::stable_sort(combination.sources, {}, &Source::size);
  return combination;
}

// Calls `visit` with each member and its score; members of a set have the score 1.
template <typename Visit>
void VisitMembers(const Source& source, Visit visit) {
  if (source.value == nullptr) return;
  if (const auto* sorted_set = std::get_if<SortedSet>(&source.value->content)) {
    for (const SortedSet::Member& member : sorted_set->members()) visit(member.name, member.score);
    return;
  }
  for (const std::string& member : std::get<values::Set>(source.value->content).members()) {
    visit(member, 1.0);
  }
}

double Weighted(const Source& source, double score) {
  const double product = source.weight * score;
  return std::isnan(product) ? 0 : product;
}

// As in Redis, a sum of infinities of both signs is 0, and whatever is no number is ignored.
double Together(double one, double other, Aggregate aggregate) {
  if (aggregate == Aggregate::kMin) return other < one ? other : one;
  if (aggregate == Aggregate::kMax) return other > one ? other : one;
  const double sum = one + other;
  return std::isnan(sum) ? 0 : sum;
}

Scores UnionOf(const Combination& combination) {
  Scores scores;
  for (const Source& source : combination.sources) {
    VisitMembers(source, [&](std::string_view name, double score) {
      const double weighted = Weighted(source, score);
      const auto [found, is_new] = scores.try_emplace(name, weighted);
      if (!is_new) found->second = Together(found->second, weighted, combination.aggregate);
    });
  }
  return scores;
}

Scores IntersectionOf(const Combination& combination) {
  Scores scores;
  const Source& smallest = combination.sources.front();
  VisitMembers(smallest, [&](std::string_view name, double score) {
    scores.emplace(name, Weighted(smallest, score));
  });
  for (std::size_t i = 1; i < combination.sources.size() && !scores.empty(); ++i) {
    const Source& source = combination.sources[i];
    Scores common;
    VisitMembers(source, [&](std::string_view name, double score) {
      const auto found = scores.find(name);
      if (found == scores.end()) return;
      common.emplace(name, Together(found->second, source.weight * score, combination.aggregate));
    });
    scores = std::move(common);
  }
  return scores;
}

SortedSet SortedSetOf(const Scores& scores) {
  SortedSet set;
  for (const auto& [name, score] : scores) set.Set(name, score);
  return set;
}

// What the key of the destination has.
struct Destination {
  engine::KeyName key;
  values::Value* value = nullptr;
  bool is_lock =
      false;  // taken the Redis way, and nobody waits: it may be overwritten, as in Redis
};

// Returns nullopt after sending an error.
std::optional<Destination> FindDestination(Invocation& call) {
  Destination destination{.key = KeyOf(call, 1)};
  if (!IsKeyOrRefuse(call, destination.key.bytes)) return std::nullopt;
  destination.value = call.server.values.Find(destination.key, call.now);
  if (destination.value != nullptr) return destination;
  const engine::Step at_now = call.server.locks.StepAt(call.now);
  destination.is_lock = call.server.values.IsLock(destination.key, call.now);
  if (!destination.is_lock) return destination;
  const engine::LockInfo info =
      call.server.locks.engine().inspection().Inspect(destination.key, 0, at_now);
  const bool is_free_afterwards =
      info.waiter_count == 0 && info.reserved_count == 0 && info.cooling_ms == 0;
  if (is_free_afterwards && LocksOf(call).Look(destination.key, at_now).is_redis_way) {
    return destination;
  }
  RefuseType(call.reply);
  return std::nullopt;
}

// Replaces whatever the key has by the result, without a time to live.
void Store(Invocation& call, const Destination& destination, SortedSet result,
           std::string_view event) {
  const std::size_t size = result.size();
  const auto* old =
      destination.value == nullptr ? nullptr : std::get_if<SortedSet>(&destination.value->content);
  if (size > 0 && (RefusesGrowth(call, destination.value == nullptr) ||
                   RefusesSize(call, destination.key.bytes, old == nullptr ? Size{} : SizeOf(*old),
                               SizeOf(result)))) {
    return;
  }
  if (destination.is_lock) {
    LocksOf(call).Release(destination.key, call.client, call.server.locks.StepAt(call.now));
  }
  if (destination.value != nullptr && size == 0) call.server.values.Delete(*destination.value);
  if (size > 0) {
    if (destination.value != nullptr) call.server.values.store().Remove(*destination.value);
    values::Value& value = call.server.values.store().Create(destination.key, std::move(result));
    call.server.values.NoticeChange(value, event, kSortedSetEvents);
  }
  call.reply.Integer(static_cast<std::int64_t>(size));
}

void Combine(Invocation& call, std::string_view command,
             Scores (*combined)(const Combination& combination)) {
  const auto combination = ReadCombination(call, command);
  if (!combination || RefusesCost(call)) return;
  const auto destination = FindDestination(call);
  if (!destination) return;
  Store(call, *destination, SortedSetOf(combined(*combination)), command);
}

void ZInterStore(Invocation& call) { Combine(call, "zinterstore", IntersectionOf); }
void ZUnionStore(Invocation& call) { Combine(call, "zunionstore", UnionOf); }

constexpr KeyPositions kTargetAndOthers = {
    .first = 1, .last = 1, .step = 1, .effect = KeyEffect::kOverwrite, .counts_others = true};
constexpr std::uint32_t kStores = kWrite | kTakesLock;

constexpr auto kSortedSetStoreCommands = std::to_array<CommandSpec>({
    {"ZINTERSTORE", ZInterStore, -4, kStores, kTargetAndOthers, "sorted-set",
     "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE SUM|MIN|MAX]",
     "Stores the members that all these sorted sets and sets have, with the sum of their scores, "
     "or the lowest or highest one; replies with their number",
     "O(members of all)"},
    {"ZUNIONSTORE", ZUnionStore, -4, kStores, kTargetAndOthers, "sorted-set",
     "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE SUM|MIN|MAX]",
     "ZINTERSTORE with the members that any of them has", "O(members of all)"},
});

}  // namespace

std::span<const CommandSpec> SortedSetStoreCommands() { return kSortedSetStoreCommands; }

}  // namespace fairlock::command
