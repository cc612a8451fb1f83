// The load generator's check of order: it detects a wrong order, and does not report one where the
// order was uncertain.

#include "bench/load_generator/order_record.h"

#include <gtest/gtest.h>

namespace fairlock::bench {
namespace {

TEST(OrderRecord, AcceptsGrantsInTheOrderOfAsking) {
  OrderRecord order;
  const std::size_t first = order.AddRequest();
  order.AddSighting(first);
  const std::size_t second = order.AddRequest();
  order.AddGrant(first, 10);
  order.AddGrant(second, 11);
  EXPECT_EQ(order.CountInversions(), 0U);
  EXPECT_EQ(order.seen(), 1U);
}

TEST(OrderRecord, CountsAGrantBeforeThatOfARequestSeenEarlier) {
  OrderRecord order;
  const std::size_t first = order.AddRequest();
  order.AddSighting(first);
  const std::size_t second = order.AddRequest();
  const std::size_t third = order.AddRequest();
  order.AddGrant(second, 10);
  order.AddGrant(third, 11);
  order.AddGrant(first, 12);
  EXPECT_EQ(order.CountInversions(), 2U);
}

TEST(OrderRecord, DoesNotJudgeRequestsThatMayHaveOvertakenEachOther) {
  OrderRecord order;
  const std::size_t first = order.AddRequest();
  const std::size_t second = order.AddRequest();
  order.AddSighting(first);
  order.AddGrant(second, 10);
  order.AddGrant(first, 11);
  EXPECT_EQ(order.CountInversions(), 0U);
}

TEST(OrderRecord, IgnoresRequestsThatWereNeverGranted) {
  OrderRecord order;
  const std::size_t first = order.AddRequest();
  order.AddSighting(first);
  const std::size_t second = order.AddRequest();
  order.AddGrant(second, 10);
  EXPECT_EQ(order.CountInversions(), 0U);
}

}  // namespace
}  // namespace fairlock::bench
