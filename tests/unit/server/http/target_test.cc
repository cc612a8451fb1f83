#include "server/http/target.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace fairlock::http {
namespace {

TEST(TakePartition, RemovesThePartitionFromTheTarget) {
  std::string target = "/api/v1/partitions/12/locks/0/a%2Fb?count=3";
  EXPECT_EQ(TakePartition(target), 12U);
  EXPECT_EQ(target, "/api/v1/locks/0/a%2Fb?count=3");
  target = "/api/v1/partitions/0/partitions/1/status";
  EXPECT_EQ(TakePartition(target), 0U);
  EXPECT_EQ(target, "/api/v1/partitions/1/status");
}

TEST(TakePartition, LeavesOtherTargetsAsTheyAre) {
  for (const std::string text :
       {"", "/", "/api/v1/status", "/api/v1/partitions", "/api/v1/partitions/",
        "/api/v1/partitions/1", "/api/v1/partitions//status", "/api/v1/partitions/x/status",
        "/api/v1/partitions/-1/status", "/api/v1/partitions/+1/status",
        "/api/v1/partitions/1x/status", "/api/v1/partitions/4294967296/status",
        "/partitions/1/status", "/api/v1/partitions/1?x=/status"}) {
    std::string target = text;
    EXPECT_EQ(TakePartition(target), std::nullopt) << text;
    EXPECT_EQ(target, text);
  }
}

}  // namespace
}  // namespace fairlock::http
