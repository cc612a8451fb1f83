#include "server/net/loop/loop_poster.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

namespace fairlock::net {
namespace {

TEST(LoopPoster, TheLoopCallsWhatAThreadPosts) {
  boost::asio::io_context io;
  LoopPoster poster(io);
  std::thread::id called_on;
  std::thread([&] { poster.Post([&] { called_on = std::this_thread::get_id(); }); }).join();
  EXPECT_EQ(called_on, std::thread::id());
  io.run();
  EXPECT_EQ(called_on, std::this_thread::get_id());
}

TEST(LoopPoster, NothingIsCalledAfterThePosterIsDestroyed) {
  boost::asio::io_context io;
  std::optional<LoopPoster> poster(std::in_place, io);
  int calls = 0;
  poster->Post([&] { ++calls; });
  poster.reset();
  EXPECT_EQ(io.run(), 1U);
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace fairlock::net
