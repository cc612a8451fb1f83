// The places whose requests are waiting, by owner.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/engine/containers/linear_hash.h"
#include "server/engine/state/claim.h"

namespace fairlock::engine {

// One of its claims represents an MLOCK. Owns nothing. The requests of one owner form a ring, one
// member of which is in the hash table; the same name in another database is a different owner. All
// calls are O(1) on average.
class WaitingRequests {
 public:
  explicit WaitingRequests(std::uint64_t seed) : seed_(seed), rings_(HashOfClaim{}) {}

  bool empty() const { return rings_.size() == 0; }
  static bool Has(const Claim& claim) { return claim.next_of_owner != nullptr; }
  void Insert(Claim& claim);
  // REQUIRES: it is there.
  void Erase(Claim& claim);
  // Any waiting request of that owner, from which `next_of_owner` leads to the others; null: none.
  const Claim* Find(std::uint8_t db, std::string_view owner) const;

 private:
  struct HashOfClaim {
    std::uint64_t operator()(const Claim& claim) const { return claim.owner_hash; }
  };
  std::uint64_t Hash(std::uint8_t db, std::string_view owner) const;
  Claim* Find(std::uint64_t hash, std::uint8_t db, std::string_view owner) const;

  const std::uint64_t seed_;
  LinearHash<Claim, HashOfClaim> rings_;
};

}  // namespace fairlock::engine
