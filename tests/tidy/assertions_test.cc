// The flags of a build, seen from inside it.

#include <gtest/gtest.h>

#include <cassert>

namespace fairlock::tidy {
namespace {

TEST(BuildDeathTest, KeepsAssertions) {
  EXPECT_DEATH(assert(testing::UnitTest::GetInstance() == nullptr), "GetInstance");
}

}  // namespace
}  // namespace fairlock::tidy
