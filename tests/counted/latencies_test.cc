#include "bench/load_generator/latencies.h"

#include <gtest/gtest.h>

namespace fairlock::bench {
namespace {

TEST(Latencies, GivesTheSampleThatTheShareDoesNotExceed) {
  Latencies latencies;
  for (std::uint64_t us = 1000; us > 0; --us) latencies.Add(us * 1000);
  EXPECT_EQ(latencies.PercentileUs(0.5), 500);
  EXPECT_EQ(latencies.PercentileUs(0.999), 999);
  EXPECT_EQ(latencies.PercentileUs(1), 1000);
}

TEST(Latencies, IsZeroWithoutSamples) { EXPECT_EQ(Latencies().PercentileUs(0.5), 0); }

TEST(Latencies, KeepsWhatIsLongerThanItCanCountAsTheLongest) {
  Latencies latencies;
  latencies.Add(60'000'000'000);
  EXPECT_GT(latencies.PercentileUs(1), 4'000'000);
}

}  // namespace
}  // namespace fairlock::bench
