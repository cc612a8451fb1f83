// A small sorted set: members with scores, ordered by score and then by member.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/values/hash.h"

namespace fairlock::values {

// A score is never NaN, and never -0. Searching a member is linear; the functions for many names
// take these sorted, or sort them first. A value type.
class SortedSet {
 public:
  struct Member {
    double score;
    std::string name;
  };

  std::optional<double> ScoreOf(std::string_view name) const;
  // Returns the scores of these members, by their positions among the names.
  std::vector<std::optional<double>> ScoresOf(const Names& names) const;
  // The number of members before this one.
  std::optional<std::size_t> RankOf(std::string_view name) const;
  // REQUIRES: there is no such member, and the score is not NaN.
  void Insert(std::string_view name, double score);
  // Adds or moves members, by their positions among the names; none: leaves the member as it is.
  // REQUIRES: no score is NaN.
  void SetScores(const Names& names, std::span<const std::optional<double>> scores);
  // Returns whether there was such a member.
  bool Erase(std::string_view name);
  // Returns how many of these members there were.
  std::size_t EraseAll(std::span<const std::string_view> names);
  // Erases the members with ranks from `first` to before `end`.
  void EraseRanks(std::size_t first, std::size_t end);

  const std::vector<Member>& members() const { return members_; }
  std::size_t size() const { return members_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::vector<Member> members_;
  std::size_t bytes_ = 0;
};

}  // namespace fairlock::values
