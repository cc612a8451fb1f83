// A simple implementation of rule 11: which waiting requests can never make progress.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "server/engine/api/types.h"

namespace fairlock::simulation {

// The holders and waiting requests; none of them has ended or is absent.
struct WaitPicture {
  struct Hold {
    int owner = 0;
    engine::Mode mode;
  };
  struct Key {
    std::uint8_t db = 0;
    std::optional<std::uint32_t> limit_override;
    std::vector<Hold> holds;
    std::vector<std::size_t> line;  // indexes of requests, in the order of the queue
  };
  struct Request {
    int owner = 0;
    std::vector<int> keys;
    engine::Mode mode;
  };
  std::vector<Key> keys;
  std::vector<Request> requests;

  // The name of the request's owner, which includes the database.
  std::pair<std::uint8_t, int> NameOf(std::size_t request) const;
  bool IsAhead(std::size_t other, std::size_t request, int key) const;
  // Whether the owner holds the key in a mode other than SHARED; with `in_any_way`, in any mode.
  bool HoldsKey(int owner, int key, bool in_any_way) const;
};

// The largest set of requests such that each has a key on which a place ahead of it is in the set,
// or on which no slot would become free even if all holders without a request in the set left.
// Owners with several requests can always make progress.
std::vector<bool> FindStuck(const WaitPicture& picture);

}  // namespace fairlock::simulation
