#include "server/net/resp/request_input.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace fairlock::net {
namespace {

// Acts like RespConnection, where the bytes are already in the window when they are passed on.
void Receive(RequestInput& input, TurnArena& arena, std::string_view bytes, bool must_wait) {
  bytes.copy(arena.window().data(), bytes.size());
  input.Receive({arena.window().data(), bytes.size()}, arena, must_wait);
}

TEST(RequestInput, ExecutesFromTheArenaWithoutACopy) {
  TurnArena arena;
  RequestInput input;
  Receive(input, arena, "PING\r\nPI", false);
  EXPECT_TRUE(input.has_unseen());
  EXPECT_TRUE(input.has_arrived());
  EXPECT_EQ(input.view(), "PING\r\nPI");
  EXPECT_EQ(input.bytes(), 8U);
  EXPECT_EQ(input.stored_bytes(), 0U);
  EXPECT_EQ(input.memory_bytes(), 0U);
  EXPECT_EQ(arena.used_bytes(), 8U);
}

TEST(RequestInput, StoresAnIncompleteRequestForTheNextTurn) {
  TurnArena arena;
  RequestInput input;
  Receive(input, arena, "PING\r\nPI", false);
  input.MarkSeen();
  input.DropFront(6);
  input.StoreArrived();
  arena.Clear();
  EXPECT_FALSE(input.has_unseen());
  EXPECT_FALSE(input.has_arrived());
  EXPECT_EQ(input.stored_bytes(), 2U);

  Receive(input, arena, "NG\r\n", false);
  EXPECT_TRUE(input.has_unseen());
  EXPECT_EQ(input.view(), "PING\r\n");
  EXPECT_EQ(arena.used_bytes(), 0U);
  input.DropFront(6);
  EXPECT_EQ(input.view(), "");
  EXPECT_EQ(input.memory_bytes(), 0U);
}

TEST(RequestInput, StoresWhatMustWaitAtOnce) {
  TurnArena arena;
  RequestInput input;
  Receive(input, arena, "PING\r\n", true);
  EXPECT_FALSE(input.has_arrived());
  EXPECT_EQ(input.stored_bytes(), 6U);
  EXPECT_EQ(arena.used_bytes(), 0U);
  input.Clear();
  EXPECT_EQ(input.bytes(), 0U);
}

}  // namespace
}  // namespace fairlock::net
