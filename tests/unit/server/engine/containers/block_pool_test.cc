#include "server/engine/containers/block_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <utility>
#include <vector>

namespace fairlock::engine {
namespace {

TEST(BlockPool, GivesDistinctBlocksOfTheSizeAskedFor) {
  BlockPool pool;
  std::vector<std::pair<void*, std::size_t>> blocks;
  std::set<void*> seen;
  for (std::size_t bytes : {1U, 15U, 16U, 17U, 107U, 255U, 256U, 257U, 9000U}) {
    for (int i = 0; i < 100; ++i) {
      void* block = pool.Take(bytes);
      std::memset(block, 0x5a, bytes);
      EXPECT_TRUE(seen.insert(block).second) << bytes;
      blocks.emplace_back(block, bytes);
    }
  }
  for (const auto& [block, bytes] : blocks) {
    EXPECT_EQ(static_cast<unsigned char*>(block)[bytes - 1], 0x5a) << bytes;
    pool.Give(block, bytes);
  }
}

#ifndef __SANITIZE_ADDRESS__
TEST(BlockPool, GivesAFreedBlockAgainToTheNextOfItsSize) {
  BlockPool pool;
  void* block = pool.Take(107);
  pool.Give(block, 107);
  void* other_size = pool.Take(128);
  EXPECT_NE(other_size, block);
  void* same_size = pool.Take(100);
  EXPECT_EQ(same_size, block);
  pool.Give(other_size, 128);
  pool.Give(same_size, 100);
}
#endif

}  // namespace
}  // namespace fairlock::engine
