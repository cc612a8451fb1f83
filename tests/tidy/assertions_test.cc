// Checks the compiler flags of a build from inside it.

#include <gtest/gtest.h>

#include <cassert>

namespace fairlock::tidy {
namespace {

TEST(BuildDeathTest, KeepsAssertions) {
  EXPECT_DEATH(assert(testing::UnitTest::GetInstance() == nullptr), "GetInstance");
}

}  // namespace
}  // namespace fairlock::tidy
