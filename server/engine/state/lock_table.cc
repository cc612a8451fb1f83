#include "server/engine/state/lock_table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fairlock::engine {

LockTable::LockTable(std::uint64_t seed)
    : seed_(seed), locks_(HashOfLock{this}), claims_(HashOfClaim{this}) {}

LockTable::~LockTable() {
  std::uint64_t cursor = 0;
  std::vector<LockEntry*> locks;
  do {
    cursor = locks_.ScanGroup(cursor, [&](LockEntry& lock) { locks.push_back(&lock); });
  } while (cursor != 0);
  for (LockEntry* lock : locks) LockEntry::Destroy(memory_, lock);
}

std::uint64_t LockTable::Hash(const KeyName& key) const {
  return XXH3_64bits_withSeed(key.bytes.data(), key.bytes.size(), seed_ + key.db);
}

std::uint64_t LockTable::HashOfOwner(const LockEntry& lock, std::string_view owner) const {
  return XXH3_64bits_withSeed(owner.data(), owner.size(),
                              seed_ ^ reinterpret_cast<std::uintptr_t>(&lock));
}

LockEntry& LockTable::Create(std::uint64_t hash, const KeyName& key, const PlainTerms& terms) {
  LockEntry* lock = LockEntry::Create(memory_, key, terms);
  locks_.Insert(hash, *lock);
  return *lock;
}

void LockTable::Destroy(std::uint64_t hash, LockEntry& lock) {
  locks_.Erase(hash, lock);
  LockEntry::Destroy(memory_, &lock);
}

Claim* LockTable::FindClaim(const LockEntry& lock, std::string_view owner) const {
  return claims_.Find(HashOfOwner(lock, owner), [&](const Claim& claim) {
    return &claim.lock == &lock && claim.owner() == owner;
  });
}

Claim& LockTable::CreateClaim(LockEntry& lock, std::string_view owner) {
  Claim* claim = Claim::Create(lock, owner);
  claims_.Insert(HashOfOwner(lock, owner), *claim);
  return *claim;
}

void LockTable::DestroyClaim(Claim& claim) {
  claims_.Erase(HashOfOwner(claim.lock, claim.owner()), claim);
  Claim::Destroy(&claim);
}

}  // namespace fairlock::engine
