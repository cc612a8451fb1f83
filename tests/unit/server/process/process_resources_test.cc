#include "server/process/process_resources.h"

#include <gtest/gtest.h>

namespace fairlock::server {
namespace {

TEST(ProcessResources, ReportsWhatTheProcessUses) {
  const command::ResourceUse use = ProcessResources().Resources();
  EXPECT_GT(use.resident_bytes, 1U << 20);
  EXPECT_GE(use.user_cpu_seconds + use.system_cpu_seconds, 0.0);
  EXPECT_LT(use.allocated_bytes, use.resident_bytes + (1U << 30));
}

}  // namespace
}  // namespace fairlock::server
