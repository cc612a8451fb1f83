// The ranges of sorted sets that commands select: by rank, by score, or by member.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "server/command/handlers/value_access.h"
#include "server/command/table/invocation.h"
#include "server/values/sorted_set.h"

namespace fairlock::command {

enum class RangeKind : std::uint8_t { kRank, kScore, kMember };

struct ScoreBound {
  double score = 0;
  bool is_excluded = false;
};

struct ScoreBounds {
  ScoreBound min;
  ScoreBound max;
};

// Where a range of members ends: at a member, or (-, +) at no member.
struct MemberBound {
  enum class Kind : std::uint8_t { kBeforeAll, kAtMember, kAfterAll };

  Kind kind = Kind::kAtMember;
  std::string_view member = {};
  bool is_excluded = false;
};

struct MemberBounds {
  MemberBound min;
  MemberBound max;
};

// Returns nullopt if these are no scores.
std::optional<ScoreBounds> ParseScoreBounds(std::string_view min, std::string_view max);
// Each returns nullopt after sending an error.
std::optional<ScoreBounds> ReadScoreBounds(Invocation& call, std::string_view min,
                                           std::string_view max);
std::optional<MemberBounds> ReadMemberBounds(Invocation& call, std::string_view min,
                                             std::string_view max);

// The ranks of the members within the bounds.
IndexRange RanksOf(const values::SortedSet& set, const ScoreBounds& bounds);
IndexRange RanksOf(const values::SortedSet& set, const MemberBounds& bounds);

}  // namespace fairlock::command
