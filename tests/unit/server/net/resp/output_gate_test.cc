#include "server/net/resp/output_gate.h"

#include <gtest/gtest.h>

namespace fairlock::net {
namespace {

TEST(OutputGate, HoldsBackTheOutputThatWaitsAndAllAfterIt) {
  OutputGate gate;
  gate.Pass(10);
  EXPECT_TRUE(gate.is_open());
  gate.Close(30, 1);
  gate.Pass(40);
  ASSERT_FALSE(gate.is_open());
  EXPECT_EQ(gate.awaited_batch(), 1U);
  EXPECT_EQ(gate.open_up_to(), 10U);
  gate.Release(1);
  EXPECT_TRUE(gate.is_open());
}

TEST(OutputGate, OpensBatchByBatch) {
  OutputGate gate;
  gate.Close(20, 1);
  gate.Close(50, 3);
  gate.Release(2);
  ASSERT_FALSE(gate.is_open());
  EXPECT_EQ(gate.open_up_to(), 20U);
  EXPECT_EQ(gate.awaited_batch(), 3U);
  gate.Release(3);
  EXPECT_TRUE(gate.is_open());
}

}  // namespace
}  // namespace fairlock::net
