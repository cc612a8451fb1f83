#include "server/values/sorted_set.h"

#include <algorithm>
#include <tuple>

namespace fairlock::values {

namespace {

bool IsBefore(const SortedSet::Member& one, const SortedSet::Member& other) {
  return std::tie(one.score, one.name) < std::tie(other.score, other.name);
}

}  // namespace

std::optional<double> SortedSet::ScoreOf(std::string_view name) const {
  const auto found = std::ranges::find(members_, name, &Member::name);
  if (found == members_.end()) return std::nullopt;
  return found->score;
}

std::optional<std::size_t> SortedSet::RankOf(std::string_view name) const {
  const auto found = std::ranges::find(members_, name, &Member::name);
  if (found == members_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - members_.begin());
}

bool SortedSet::Set(std::string_view name, double score) {
  score += 0.0;  // -0 becomes 0
  const auto found = std::ranges::find(members_, name, &Member::name);
  const bool is_new = found == members_.end();
  Member member{score, std::string(name)};
  if (is_new) {
    bytes_ += name.size() + kElementBytes;
  } else {
    if (found->score == score) return false;
    members_.erase(found);
  }
  const auto after = std::ranges::upper_bound(members_, member, IsBefore);
  members_.insert(after, std::move(member));
  return is_new;
}

bool SortedSet::Erase(std::string_view name) {
  const auto rank = RankOf(name);
  if (rank) EraseRanks(*rank, *rank + 1);
  return rank.has_value();
}

void SortedSet::EraseRanks(std::size_t first, std::size_t end) {
  for (std::size_t i = first; i < end; ++i) bytes_ -= members_[i].name.size() + kElementBytes;
  const auto begin = members_.begin();
  members_.erase(begin + static_cast<std::ptrdiff_t>(first),
                 begin + static_cast<std::ptrdiff_t>(end));
}

}  // namespace fairlock::values
