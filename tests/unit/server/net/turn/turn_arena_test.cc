#include "server/net/turn/turn_arena.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlock::net {
namespace {

TEST(TurnArena, KeepsWhatWasReceivedBehindWhatWasKept) {
  TurnArena arena;
  std::ranges::fill(arena.window().first(3), 'a');
  const std::string_view first = arena.Keep(3);
  // These bytes were received, but not kept.
  std::ranges::fill(arena.window().first(9), 'x');
  std::ranges::fill(arena.window().first(2), 'b');
  const std::string_view second = arena.Keep(2);
  EXPECT_EQ(first, "aaa");
  EXPECT_EQ(second, "bb");
}

TEST(TurnArena, IsFullWhenNoWholeWindowIsLeft) {
  TurnArena arena;
  std::size_t windows = 0;
  for (; !arena.is_full(); ++windows) arena.Keep(arena.window().size());
  EXPECT_EQ(windows, TurnArena::kBytes / TurnArena::kWindowBytes);
  arena.Clear();
  EXPECT_FALSE(arena.is_full());
  arena.Keep(1);
  for (windows = 0; !arena.is_full(); ++windows) arena.Keep(arena.window().size());
  EXPECT_EQ(windows, TurnArena::kBytes / TurnArena::kWindowBytes - 1);
}

}  // namespace
}  // namespace fairlock::net
