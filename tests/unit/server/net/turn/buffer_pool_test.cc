#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "server/net/turn/turn_arena.h"

namespace fairlock::net {
namespace {

TEST(BufferPool, LendsTheSameMemoryAgain) {
  BufferPool pool;
  std::string buffer;
  pool.Lend(buffer);
  EXPECT_GE(buffer.capacity(), BufferPool::kNewBufferBytes);
  buffer.append(2000, 'x');
  const char* const memory = buffer.data();
  pool.Return(buffer);
  EXPECT_EQ(pool.size(), 1U);
  EXPECT_EQ(buffer.capacity(), std::string().capacity());

  std::string other;
  pool.Lend(other);
  EXPECT_EQ(pool.size(), 0U);
  EXPECT_TRUE(other.empty());
  EXPECT_EQ(other.data(), memory);
}

TEST(BufferPool, LeavesABufferThatHasMemory) {
  BufferPool pool;
  std::string buffer;
  buffer.reserve(100);
  const std::size_t capacity = buffer.capacity();
  pool.Lend(buffer);
  EXPECT_EQ(buffer.capacity(), capacity);
}

TEST(BufferPool, KeepsNeitherLargeNorManyBuffers) {
  BufferPool pool;
  std::string large(BufferPool::kBufferBytesMax + 1, 'x');
  pool.Return(large);
  EXPECT_EQ(pool.size(), 0U);
  EXPECT_TRUE(large.empty());
  EXPECT_EQ(large.capacity(), std::string().capacity());

  std::vector<std::string> many(BufferPool::kBuffersMax + 10, std::string(100, 'x'));
  for (std::string& buffer : many) pool.Return(buffer);
  EXPECT_EQ(pool.size(), BufferPool::kBuffersMax);
}

TEST(BufferPool, TakesNothingFromABufferWithoutMemory) {
  BufferPool pool;
  std::string small = "small";
  pool.Return(small);
  EXPECT_EQ(pool.size(), 0U);
  EXPECT_TRUE(small.empty());
}

}  // namespace
}  // namespace fairlock::net
