#include "server/command/client/unsent_grants.h"

#include <gtest/gtest.h>

namespace fairlock::command {
namespace {

constexpr DeliveredGrant kGrant{.key_hash = 1, .token = 7};
constexpr DeliveredGrant kNext{.key_hash = 2, .token = 8};

TEST(UnsentGrants, AreConfirmedOnceTheirRepliesAreSent) {
  GrantsInFlight in_flight;
  UnsentGrants grants(in_flight);
  grants.Add(10, kGrant.key_hash, kGrant.token);
  grants.Add(20, kNext.key_hash, kNext.token);
  grants.Confirm(9);
  EXPECT_TRUE(grants.Has(kGrant.token));
  grants.Confirm(10);
  EXPECT_FALSE(grants.Has(kGrant.token));
  EXPECT_TRUE(grants.Has(kNext.token));
  grants.Confirm(20);
  EXPECT_TRUE(grants.all().empty());
}

TEST(UnsentGrants, OneSentMessageDeliversASharedGrantForAllConnections) {
  GrantsInFlight in_flight;
  UnsentGrants one(in_flight);
  UnsentGrants other(in_flight);
  one.AddDelivery(10, kGrant, true);
  other.AddLostDelivery(kGrant, true);
  EXPECT_TRUE(in_flight.IsElsewhere(kGrant.token, one));
  one.Confirm(10);
  EXPECT_FALSE(other.Has(kGrant.token));
}

// This is what a client with SUBSCRIBE and SSUBSCRIBE of one channel causes.
TEST(UnsentGrants, OneOfTwoMessagesToAClientDeliversTheGrant) {
  GrantsInFlight in_flight;
  UnsentGrants grants(in_flight);
  grants.AddDelivery(10, kGrant, true);
  grants.AddDelivery(20, kGrant, true);
  grants.AddDelivery(30, kNext, true);
  grants.AddDelivery(40, kNext, true);
  grants.Confirm(15);
  EXPECT_FALSE(grants.Has(kGrant.token));
  EXPECT_TRUE(grants.Has(kNext.token));
  grants.Confirm(29);
  EXPECT_TRUE(grants.Has(kNext.token));
  grants.Confirm(30);
  EXPECT_TRUE(grants.all().empty());
}

}  // namespace
}  // namespace fairlock::command
