// Rule 11, plainly: which waiting requests can never go on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "server/engine/api/types.h"

namespace fairlock::simulation {

// Who holds, and whose requests wait, without what is over or absent.
struct WaitPicture {
  struct Hold {
    int owner = 0;
    engine::Mode mode;
  };
  struct Key {
    std::uint8_t db = 0;
    std::optional<std::uint32_t> limit_override;
    std::vector<Hold> holds;
    std::vector<std::size_t> line;  // numbers of requests, in their order
  };
  struct Request {
    int owner = 0;
    std::vector<int> keys;
    engine::Mode mode;
  };
  std::vector<Key> keys;
  std::vector<Request> requests;

  // The database of an owner's request is part of the owner's name.
  std::pair<std::uint8_t, int> NameOf(std::size_t request) const;
  bool IsAhead(std::size_t other, std::size_t request, int key) const;
  // Otherwise than SHARED, or in any way.
  bool HoldsKey(int owner, int key, bool in_any_way) const;
};

// The largest set of requests each of which has a key where a place ahead is in the set, or where
// the leaving of all holders that own no request in the set would not make room. Owners with
// several requests can go on.
std::vector<bool> FindStuck(const WaitPicture& picture);

}  // namespace fairlock::simulation
