// A small sorted set: members with scores, ordered by score and then by member.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/values/hash.h"

namespace fairlock::values {

// A score is never NaN, and never -0. Searching a member is linear. A value type.
class SortedSet {
 public:
  struct Member {
    double score;
    std::string name;
  };

  std::optional<double> ScoreOf(std::string_view name) const;
  // The number of members before this one.
  std::optional<std::size_t> RankOf(std::string_view name) const;
  // Returns whether the member is new. REQUIRES: the score is not NaN.
  bool Set(std::string_view name, double score);
  // Returns whether there was such a member.
  bool Erase(std::string_view name);
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
