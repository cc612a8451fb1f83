#include "server/engine/state/waiting_requests.h"

#include <cassert>

#include "server/engine/state/lock_entry.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fairlock::engine {

std::uint64_t WaitingRequests::Hash(std::uint8_t db, std::string_view owner) const {
  return XXH3_64bits_withSeed(owner.data(), owner.size(), seed_ + db);
}

Claim* WaitingRequests::Find(std::uint64_t hash, std::uint8_t db, std::string_view owner) const {
  return rings_.Find(hash, [&](const Claim& claim) {
    return claim.owner() == owner && claim.lock.key().db == db;
  });
}

const Claim* WaitingRequests::Find(std::uint8_t db, std::string_view owner) const {
  return empty() ? nullptr : Find(Hash(db, owner), db, owner);
}

void WaitingRequests::Insert(Claim& claim) {
  assert(!Has(claim));
  const std::uint8_t db = claim.lock.key().db;
  claim.owner_hash = Hash(db, claim.owner());
  Claim* head = Find(claim.owner_hash, db, claim.owner());
  if (head == nullptr) {
    claim.next_of_owner = claim.previous_of_owner = &claim;
    rings_.Insert(claim.owner_hash, claim);
    return;
  }
  claim.next_of_owner = head;
  claim.previous_of_owner = head->previous_of_owner;
  claim.previous_of_owner->next_of_owner = &claim;
  head->previous_of_owner = &claim;
}

void WaitingRequests::Erase(Claim& claim) {
  assert(Has(claim));
  const std::uint64_t hash = claim.owner_hash;
  Claim* next = claim.next_of_owner;
  const bool is_head = next == &claim || Find(hash, claim.lock.key().db, claim.owner()) == &claim;
  if (is_head) rings_.Erase(hash, claim);
  if (is_head && next != &claim) rings_.Insert(hash, *next);
  next->previous_of_owner = claim.previous_of_owner;
  claim.previous_of_owner->next_of_owner = next;
  claim.next_of_owner = claim.previous_of_owner = nullptr;
}

}  // namespace fairlock::engine
