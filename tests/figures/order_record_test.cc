// The load generator's judgement of order: it must see a wrong one, and must not see one where
// none was certain.

#include "bench/load_generator/order_record.h"

#include <gtest/gtest.h>

namespace fairlock::bench {
namespace {

TEST(OrderRecord, AcceptsGrantsInTheOrderOfAsking) {
  OrderRecord order;
  const std::size_t first = order.NoteAsked();
  order.NoteSeen(first);
  const std::size_t second = order.NoteAsked();
  order.NoteGranted(first, 10);
  order.NoteGranted(second, 11);
  EXPECT_EQ(order.CountInversions(), 0U);
  EXPECT_EQ(order.seen(), 1U);
}

TEST(OrderRecord, CountsAGrantBeforeThatOfARequestSeenEarlier) {
  OrderRecord order;
  const std::size_t first = order.NoteAsked();
  order.NoteSeen(first);
  const std::size_t second = order.NoteAsked();
  const std::size_t third = order.NoteAsked();
  order.NoteGranted(second, 10);
  order.NoteGranted(third, 11);
  order.NoteGranted(first, 12);
  EXPECT_EQ(order.CountInversions(), 2U);
}

TEST(OrderRecord, DoesNotJudgeRequestsThatMayHaveOvertakenEachOther) {
  OrderRecord order;
  const std::size_t first = order.NoteAsked();
  const std::size_t second = order.NoteAsked();
  order.NoteSeen(first);
  order.NoteGranted(second, 10);
  order.NoteGranted(first, 11);
  EXPECT_EQ(order.CountInversions(), 0U);
}

TEST(OrderRecord, IgnoresRequestsThatWereNeverGranted) {
  OrderRecord order;
  const std::size_t first = order.NoteAsked();
  order.NoteSeen(first);
  const std::size_t second = order.NoteAsked();
  order.NoteGranted(second, 10);
  EXPECT_EQ(order.CountInversions(), 0U);
}

}  // namespace
}  // namespace fairlock::bench
