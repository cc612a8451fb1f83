// The hash table of locks, by database and key, and the index of claims, by lock and owner.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/engine/api/types.h"
#include "server/engine/containers/linear_hash.h"
#include "server/engine/state/lock_entry.h"

namespace fairlock::engine {

// Owns the locks; claims belong to their locks. All calls are O(1) on average.
class LockTable {
 public:
  explicit LockTable(std::uint64_t seed);
  ~LockTable();

  std::uint64_t HashOf(const KeyName& key) const { return key.hash != 0 ? key.hash : Hash(key); }

  [[gnu::always_inline]] LockEntry* Find(std::uint64_t hash, const KeyName& key) const {
    return locks_.Find(hash, [&](const LockEntry& lock) { return lock.key() == key; });
  }
  // Any lock with that hash for which `matches(lock)` is true, or null.
  template <typename Matches>
  LockEntry* FindByHash(std::uint64_t hash, Matches&& matches) const {
    return locks_.Find(hash, matches);
  }
  void Reserve(std::size_t locks) { locks_.Reserve(locks); }
  LockEntry& Create(std::uint64_t hash, const KeyName& key, const PlainTerms& terms);
  void Destroy(std::uint64_t hash, LockEntry& lock);

  // The claim that the owner has on the lock, or null.
  Claim* FindClaim(const LockEntry& lock, std::string_view owner) const;
  Claim& CreateClaim(LockEntry& lock, std::string_view owner);
  void DestroyClaim(Claim& claim);

  void PrefetchBucket(std::uint64_t hash) const { locks_.PrefetchBucket(hash); }
  void PrefetchLock(std::uint64_t hash) const { locks_.PrefetchEntry(hash); }
  std::size_t size() const { return locks_.size(); }
  std::size_t claim_count() const { return claims_.size(); }

  template <typename Visit>
  std::uint64_t ScanGroup(std::uint64_t cursor, Visit&& visit) const {
    return locks_.ScanGroup(cursor, visit);
  }

 private:
  struct HashOfLock {
    const LockTable* table;
    std::uint64_t operator()(const LockEntry& lock) const { return table->HashOf(lock.key()); }
  };
  struct HashOfClaim {
    const LockTable* table;
    std::uint64_t operator()(const Claim& claim) const {
      return table->HashOfOwner(claim.lock, claim.owner());
    }
  };
  // XXH3 of the key with the secret seed, into which the database is mixed.
  std::uint64_t Hash(const KeyName& key) const;
  std::uint64_t HashOfOwner(const LockEntry& lock, std::string_view owner) const;

  const std::uint64_t seed_;
  BlockPool memory_;  // for the locks
  LinearHash<LockEntry, HashOfLock> locks_;
  LinearHash<Claim, HashOfClaim> claims_;
};

}  // namespace fairlock::engine
