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

std::optional<ScoreBounds> ParseScoreBounds(std::string_view min, std::string_view max) {
  const auto from = ParseScoreBound(min);
  const auto to = ParseScoreBound(max);
  if (!from || !to) return std::nullopt;
  return ScoreBounds{*from, *to};
}

std::optional<ScoreBounds> ReadScoreBounds(Invocation& call, std::string_view min,
                                           std::string_view max) {
  const auto bounds = ParseScoreBounds(min, max);
  if (!bounds) call.reply.Error(ErrorCode::kErr, "min or max is not a float");
  return bounds;
}

std::optional<MemberBounds> ReadMemberBounds(Invocation& call, std::string_view min,
                                             std::string_view max) {
  const auto from = ParseMemberBound(min);
  const auto to = ParseMemberBound(max);
  if (from && to) return MemberBounds{*from, *to};
  call.reply.Error(ErrorCode::kErr, "min or max not valid string range item");
  return std::nullopt;
}

IndexRange RanksOf(const values::SortedSet& set, const ScoreBounds& bounds) {
  const auto& min = bounds.min;
  const auto& max = bounds.max;
  const std::size_t first = set.CountWhile([&](const auto& member) {
    return min.is_excluded ? member.score <= min.score : member.score < min.score;
  });
  const std::size_t end = set.CountWhile([&](const auto& member) {
    return max.is_excluded ? member.score < max.score : member.score <= max.score;
  });
  return {first, std::max(first, end)};
}

// If the members do not all have the same score, their order is another, and the result has no
// meaning. For a small sorted set, it is then that of Redis, which searches in the same way.
IndexRange RanksOf(const values::SortedSet& set, const MemberBounds& bounds) {
  constexpr std::size_t kSearchedMax = 128;
  const auto members = set.members();
  if (IsEmpty(bounds) || members.empty() || IsBelow(members.back().name, bounds.min) ||
      IsAbove(members.front().name, bounds.max)) {
    return {};
  }
  if (set.size() > kSearchedMax) {
    const std::size_t first =
        set.CountWhile([&](const auto& member) { return IsBelow(member.name, bounds.min); });
    const std::size_t end =
        set.CountWhile([&](const auto& member) { return !IsAbove(member.name, bounds.max); });
    return {first, std::max(first, end)};
  }
  IndexRange range;
  auto at = members.begin();
  for (; IsBelow(at->name, bounds.min); ++at) ++range.first;
  range.end = range.first;
  for (; at != members.end() && !IsAbove(at->name, bounds.max); ++at) ++range.end;
  return range;
}

}  // namespace fairlock::command
