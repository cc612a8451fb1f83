#include "server/process/memory_meter.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace fairlock::server {
namespace {

constexpr std::size_t kMany = 64 * 1024 * 1024;

// Allocates memory and writes to it, so that it becomes resident.
std::unique_ptr<char[]> Take(std::size_t bytes) {
  auto taken = std::make_unique_for_overwrite<char[]>(bytes);
  std::memset(taken.get(), 1, bytes);
  return taken;
}

TEST(MemoryMeter, MeasuresWhatIsTaken) {
  MemoryMeter meter;
  const std::uint64_t before = meter.Measure();
  EXPECT_GT(before, 0U);
  const auto taken = Take(kMany);
  EXPECT_GE(meter.Measure(), before + kMany);
}

TEST(MemoryMeter, EstimatesWhatThisThreadHasTakenAndGivenBackSince) {
  if (MemoryMeter::AllocatedBytes() == 0) GTEST_SKIP() << "the allocator does not report it";
  MemoryMeter meter;
  const std::uint64_t before = meter.Measure();
  EXPECT_EQ(meter.Estimate(), before);
  auto taken = Take(kMany);
  EXPECT_GE(meter.Estimate(), before + kMany);
  EXPECT_LT(meter.Estimate(), before + 2 * kMany);
  taken.reset();
  EXPECT_LT(meter.Estimate(), before + kMany / 64);
}

TEST(MemoryMeter, AnEstimateMayBeLowerThanTheMeasureBefore) {
  if (MemoryMeter::AllocatedBytes() == 0) GTEST_SKIP() << "the allocator does not report it";
  MemoryMeter meter;
  auto taken = Take(kMany);
  const std::uint64_t before = meter.Measure();
  taken.reset();
  EXPECT_LE(meter.Estimate(), before - kMany);
}

}  // namespace
}  // namespace fairlock::server
