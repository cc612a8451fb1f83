// A simple implementation of rule 11: which waiting requests can never make progress.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "server/engine/api/types.h"

namespace fairlock::simulation {

// Holders and waiting requests, without any that have ended or are absent.
struct WaitPicture {
  struct Hold {
    int owner = 0;
    engine::Mode mode;
  };
  struct Key {
    std::uint8_t db = 0;
    std::optional<std::uint32_t> limit_override;
    std::vector<Hold> holds;
    std::vector<std::size_t> line;  // indexes of requests, in order
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
  // In a mode other than SHARED; with `in_any_way`, in any mode.
  bool HoldsKey(int owner, int key, bool in_any_way) const;
};

// The largest set of requests such that each has a key where a place ahead is in the set, or where
// no slot would become free even if all holders without a request in the set left. Owners with
// several requests can always make progress.
std::vector<bool> FindStuck(const WaitPicture& picture);

}  // namespace fairlock::simulation
