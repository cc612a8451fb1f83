// The groups whose claims are holds, by their token.
#pragma once

#include <cstdint>

#include "server/engine/group.h"
#include "server/engine/linear_hash.h"

namespace fairlock::engine {

// Loop-confined. All calls are O(1) on average.
class GroupTable {
 public:
  GroupTable() : groups_(HashOfGroup{}) {}

  void Insert(Group& group) { groups_.Insert(HashOf(group.token), group); }
  void Erase(const Group& group) { groups_.Erase(HashOf(group.token), group); }
  Group* Find(Token token) const {
    if (groups_.size() == 0) return nullptr;
    return groups_.Find(HashOf(token), [&](const Group& group) { return group.token == token; });
  }

 private:
  static std::uint64_t HashOf(Token token) { return token * 0x9e37'79b9'7f4a'7c15; }
  struct HashOfGroup {
    std::uint64_t operator()(const Group& group) const { return HashOf(group.token); }
  };

  LinearHash<Group, HashOfGroup> groups_;
};

}  // namespace fairlock::engine
