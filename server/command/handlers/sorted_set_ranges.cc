#include "server/command/handlers/sorted_set_ranges.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

namespace fairlock::command {

using protocol::ErrorCode;

namespace {

std::optional<ScoreBound> ParseScoreBound(std::string_view text) {
  ScoreBound bound;
  bound.is_excluded = text.starts_with('(');
  // Less strict than a score: as in Redis, an empty text is 0, blanks may precede the number, and a
  // zero byte ends it.
  const std::string number(bound.is_excluded ? text.substr(1) : text);
  char* end = nullptr;
  bound.score = std::strtod(number.c_str(), &end);
  if (*end != '\0' || std::isnan(bound.score)) return std::nullopt;
  return bound;
}

std::optional<MemberBound> ParseMemberBound(std::string_view text) {
  if (text == "-") return MemberBound{.kind = MemberBound::Kind::kBeforeAll};
  if (text == "+") return MemberBound{.kind = MemberBound::Kind::kAfterAll};
  if (!text.starts_with('(') && !text.starts_with('[')) return std::nullopt;
  return MemberBound{.member = text.substr(1), .is_excluded = text[0] == '('};
}

bool IsBelow(std::string_view name, const MemberBound& min) {
  if (min.kind != MemberBound::Kind::kAtMember) return min.kind == MemberBound::Kind::kAfterAll;
  return min.is_excluded ? name <= min.member : name < min.member;
}

bool IsAbove(std::string_view name, const MemberBound& max) {
  if (max.kind != MemberBound::Kind::kAtMember) return max.kind == MemberBound::Kind::kBeforeAll;
  return max.is_excluded ? name >= max.member : name > max.member;
}

// Whether no member can be within the bounds.
bool IsEmpty(const MemberBounds& bounds) {
  const auto& [min, max] = bounds;
  if (min.kind != max.kind) return min.kind > max.kind;
  if (min.kind != MemberBound::Kind::kAtMember) return false;
  const bool is_excluded = min.is_excluded || max.is_excluded;
  return min.member > max.member || (min.member == max.member && is_excluded);
}

}  // namespace

std::optional<ScoreBounds> ReadScoreBounds(Invocation& call, std::string_view min,
                                           std::string_view max) {
  const auto from = ParseScoreBound(min);
  const auto to = ParseScoreBound(max);
  if (from && to) return ScoreBounds{*from, *to};
  call.reply.Error(ErrorCode::kErr, "min or max is not a float");
  return std::nullopt;
}

std::optional<MemberBounds> ReadMemberBounds(Invocation& call, std::string_view min,
                                             std::string_view max) {
  const auto from = ParseMemberBound(min);
  const auto to = ParseMemberBound(max);
  if (from && to) return MemberBounds{*from, *to};
  call.reply.Error(ErrorCode::kErr, "min or max not valid string range item");
  return std::nullopt;
}

// Binary search finds the bounds, because the members are in the order of their scores.
IndexRange RanksOf(const values::SortedSet& set, const ScoreBounds& bounds) {
  const auto& members = set.members();
  const auto& min = bounds.min;
  const auto& max = bounds.max;
  const auto first = std::ranges::partition_point(members, [&](const auto& member) {
    return min.is_excluded ? member.score <= min.score : member.score < min.score;
  });
  const auto end = std::partition_point(first, members.end(), [&](const auto& member) {
    return max.is_excluded ? member.score < max.score : member.score <= max.score;
  });
  return {static_cast<std::size_t>(first - members.begin()),
          static_cast<std::size_t>(end - members.begin())};
}

// If the members do not all have the same score, their order is another, and the result has no
// meaning. It is then that of Redis for a small sorted set, which searches in the same way.
IndexRange RanksOf(const values::SortedSet& set, const MemberBounds& bounds) {
  const auto& members = set.members();
  if (IsEmpty(bounds) || members.empty() || IsBelow(members.back().name, bounds.min) ||
      IsAbove(members.front().name, bounds.max)) {
    return {};
  }
  std::size_t first = 0;
  while (IsBelow(members[first].name, bounds.min)) ++first;
  std::size_t end = first;
  while (end < members.size() && !IsAbove(members[end].name, bounds.max)) ++end;
  return {first, end};
}

}  // namespace fairlock::command
