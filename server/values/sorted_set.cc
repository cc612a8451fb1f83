#include "server/values/sorted_set.h"

#include <algorithm>
#include <tuple>
#include <utility>

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

std::vector<std::optional<double>> SortedSet::ScoresOf(const Names& names) const {
  std::vector<std::optional<double>> scores(names.size() + 1);
  for (const Member& member : members_) scores[names.IndexOf(member.name)] = member.score;
  scores.pop_back();  // of all members with other names
  return scores;
}

void SortedSet::Insert(std::string_view name, double score) {
  Member member{score + 0.0, std::string(name)};  // -0 becomes 0
  bytes_ += name.size() + kElementBytes;
  const auto after = std::ranges::upper_bound(members_, member, IsBefore);
  members_.insert(after, std::move(member));
}

void SortedSet::SetScores(const Names& names, std::span<const std::optional<double>> scores) {
  std::vector<bool> is_done(names.size() + 1);  // the last one is no name's
  std::erase_if(members_, [&](const Member& member) {
    const std::size_t index = names.IndexOf(member.name);
    if (index == names.size() || !scores[index]) return false;
    is_done[index] = *scores[index] == member.score;
    if (!is_done[index]) bytes_ -= member.name.size() + kElementBytes;
    return !is_done[index];
  });
  const auto others = static_cast<std::ptrdiff_t>(members_.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!scores[i] || is_done[i]) continue;
    members_.push_back({*scores[i] + 0.0, std::string(names.at(i))});  // -0 becomes 0
    bytes_ += names.at(i).size() + kElementBytes;
  }
  std::sort(members_.begin() + others, members_.end(), IsBefore);
  std::inplace_merge(members_.begin(), members_.begin() + others, members_.end(), IsBefore);
}

bool SortedSet::Erase(std::string_view name) {
  const auto rank = RankOf(name);
  if (rank) EraseRanks(*rank, *rank + 1);
  return rank.has_value();
}

std::size_t SortedSet::EraseAll(std::span<const std::string_view> names) {
  const std::size_t before = size();
  const Names unwanted(names);
  std::erase_if(members_, [&](const Member& member) {
    if (!unwanted.Has(member.name)) return false;
    bytes_ -= member.name.size() + kElementBytes;
    return true;
  });
  return before - size();
}

void SortedSet::EraseRanks(std::size_t first, std::size_t end) {
  for (std::size_t i = first; i < end; ++i) bytes_ -= members_[i].name.size() + kElementBytes;
  const auto begin = members_.begin();
  members_.erase(begin + static_cast<std::ptrdiff_t>(first),
                 begin + static_cast<std::ptrdiff_t>(end));
}

}  // namespace fairlock::values
