// The multi-locks whose claims are holds, by token.
#pragma once

#include <cstdint>

#include "server/engine/containers/linear_hash.h"
#include "server/engine/state/multi_lock.h"

namespace fairlock::engine {

// Loop-confined. All calls are O(1) on average.
class MultiLockTable {
 public:
  MultiLockTable() : multi_locks_(HashOfMultiLock{}) {}

  void Insert(MultiLock& multi_lock) { multi_locks_.Insert(HashOf(multi_lock.token), multi_lock); }
  void Erase(const MultiLock& multi_lock) {
    multi_locks_.Erase(HashOf(multi_lock.token), multi_lock);
  }
  MultiLock* Find(Token token) const {
    if (multi_locks_.size() == 0) return nullptr;
    return multi_locks_.Find(
        HashOf(token), [&](const MultiLock& multi_lock) { return multi_lock.token == token; });
  }

 private:
  static std::uint64_t HashOf(Token token) { return token * 0x9e37'79b9'7f4a'7c15; }
  struct HashOfMultiLock {
    std::uint64_t operator()(const MultiLock& multi_lock) const { return HashOf(multi_lock.token); }
  };

  LinearHash<MultiLock, HashOfMultiLock> multi_locks_;
};

}  // namespace fairlock::engine
