#include "server/record/duration_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace fairlock::record {
namespace {

using Histogram = DurationHistogram<std::uint32_t>;

TEST(DurationHistogram, EveryDurationFallsIntoABucketThatIsAtMostA32ndLonger) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const auto duration_ms = static_cast<engine::DurationMs>(random() >> (28 + random() % 36));
    const std::size_t index = DurationBuckets::IndexOf(duration_ms);
    ASSERT_LT(index, DurationBuckets::kCount);
    const engine::DurationMs longest_ms = DurationBuckets::LongestIn(index);
    ASSERT_GE(longest_ms, duration_ms);
    ASSERT_LE(longest_ms - duration_ms, duration_ms / 32);
  }
}

TEST(DurationHistogram, BucketsFollowOneAnotherWithoutGap) {
  for (std::size_t i = 0; i + 1 < DurationBuckets::kCount; ++i) {
    const engine::DurationMs longest_ms = DurationBuckets::LongestIn(i);
    ASSERT_EQ(DurationBuckets::IndexOf(longest_ms), i);
    ASSERT_EQ(DurationBuckets::IndexOf(longest_ms + 1), i + 1);
  }
  EXPECT_EQ(DurationBuckets::LongestIn(DurationBuckets::kCount - 1), DurationBuckets::kDurationMax);
}

TEST(DurationHistogram, QuantilesAgreeWithASortedList) {
  std::mt19937_64 random(2);
  Histogram histogram;
  std::vector<engine::DurationMs> all;
  for (int i = 0; i < 10'000; ++i) {
    all.push_back(static_cast<engine::DurationMs>(random() % (1U << (random() % 20))));
    histogram.Count(all.back());
  }
  std::sort(all.begin(), all.end());
  for (const double part : {0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(part * 10'000);
    const engine::DurationMs exact_ms = all[rank - 1];
    EXPECT_GE(histogram.Quantile(part), exact_ms);
    EXPECT_LE(histogram.Quantile(part), exact_ms + exact_ms / 32);
  }
  EXPECT_EQ(histogram.longest_ms(), all.back());
  EXPECT_EQ(histogram.Quantile(1), all.back());
}

TEST(DurationHistogram, OfNothingIsNothing) {
  const Histogram histogram;
  EXPECT_EQ(histogram.Quantile(0.5), 0);
  EXPECT_EQ(histogram.CountAll(), 0U);
}

TEST(DurationHistogram, OneValueIsEveryQuantile) {
  Histogram histogram;
  histogram.Count(1000);
  EXPECT_EQ(histogram.Quantile(0.001), 1000);
  EXPECT_EQ(histogram.Quantile(0.5), 1000);
  EXPECT_EQ(histogram.Quantile(0.999), 1000);
}

TEST(DurationHistogram, WhatIsLongerThanTwoYearsCountsAsThat) {
  Histogram histogram;
  histogram.Count(engine::kNever);
  EXPECT_EQ(histogram.longest_ms(), DurationBuckets::kDurationMax);
}

TEST(DurationHistogram, PackedAndAddedItIsTheSame) {
  std::mt19937_64 random(3);
  Histogram histogram;
  for (int i = 0; i < 5000; ++i) {
    histogram.Count(static_cast<engine::DurationMs>(random() >> (28 + random() % 36)));
  }
  std::vector<char> packed(Histogram::kPackedBytesMax);
  const char* end = histogram.Pack(packed.data());
  DurationHistogram<std::uint64_t> sum;
  EXPECT_EQ(sum.AddPacked(packed.data()), end);
  sum.Add(histogram);
  for (std::size_t i = 0; i < DurationBuckets::kCount; ++i) {
    ASSERT_EQ(sum.counts()[i], 2 * histogram.counts()[i]);
  }
  EXPECT_EQ(sum.longest_ms(), histogram.longest_ms());
}

TEST(DurationHistogram, PackedFewDurationsTakeFewBytes) {
  Histogram histogram;
  std::vector<char> packed(Histogram::kPackedBytesMax);
  EXPECT_EQ(histogram.Pack(packed.data()) - packed.data(), 1);
  histogram.Count(20);
  histogram.Count(3'600'000);
  EXPECT_LT(histogram.Pack(packed.data()) - packed.data(), 12);
}

TEST(DurationHistogram, PackedItNeverTakesMoreThanPromised) {
  Histogram histogram;
  for (std::size_t i = 0; i < DurationBuckets::kCount; ++i) {
    for (int times = 0; times < 200; ++times) histogram.Count(DurationBuckets::LongestIn(i));
  }
  std::vector<char> packed(Histogram::kPackedBytesMax);
  EXPECT_LE(histogram.Pack(packed.data()), packed.data() + packed.size());
}

}  // namespace
}  // namespace fairlock::record
