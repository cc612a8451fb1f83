#include <gtest/gtest.h>

#include <string>

#include "server/net/resp/request_input.h"

namespace fairlock::net {
namespace {

TEST(ByteQueue, GivesBackWhatWasAppended) {
  ByteQueue queue;
  EXPECT_TRUE(queue.empty());
  queue.Append("one");
  queue.Append("two");
  EXPECT_EQ(queue.view(), "onetwo");
  queue.DropFront(4);
  EXPECT_EQ(queue.view(), "wo");
  queue.Append("three");
  EXPECT_EQ(queue.view(), "wothree");
  EXPECT_EQ(queue.size(), 7U);
}

TEST(ByteQueue, AdoptsAStringWithoutItsBeginning) {
  ByteQueue queue;
  queue.Adopt("sent and unsent", 9);
  EXPECT_EQ(queue.view(), "unsent");
  queue.Clear();
  queue.Adopt("all of it", 9);
  EXPECT_TRUE(queue.empty());
}

TEST(ByteQueue, KeepsItsOrderWhileItIsFilledAndDrained) {
  ByteQueue queue;
  std::string expected;
  unsigned next = 0;
  for (int round = 0; round < 2000; ++round) {
    for (int i = 0; i < round % 17; ++i) {
      const char byte = static_cast<char>('a' + next++ % 26);
      queue.Append(std::string_view(&byte, 1));
      expected += byte;
    }
    const std::size_t dropped =
        std::min<std::size_t>(queue.size(), static_cast<std::size_t>(round % 13));
    queue.DropFront(dropped);
    expected.erase(0, dropped);
    ASSERT_EQ(queue.view(), expected);
  }
}

}  // namespace
}  // namespace fairlock::net
