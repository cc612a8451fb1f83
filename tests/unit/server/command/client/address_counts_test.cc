#include "server/command/client/address_counts.h"

#include <gtest/gtest.h>

namespace fairlock::command {
namespace {

TEST(AddressCounts, CountsByAddressWhateverThePort) {
  AddressCounts counts;
  counts.set_count_max(2);
  counts.Add("10.0.0.7:1");
  EXPECT_FALSE(counts.IsFull("10.0.0.7:2"));
  counts.Add("10.0.0.7:2");
  EXPECT_TRUE(counts.IsFull("10.0.0.7:3"));
  EXPECT_FALSE(counts.IsFull("10.0.0.70:3"));
  counts.Remove("10.0.0.7:1");
  EXPECT_FALSE(counts.IsFull("10.0.0.7:3"));
}

TEST(AddressCounts, ANetworkOfIpv6CountsAsOne) {
  AddressCounts counts;
  counts.set_count_max(2);
  counts.Add("[2001:db8:0:1::7]:1");
  counts.Add("[2001:db8:0:1:ffff::1]:2");
  EXPECT_TRUE(counts.IsFull("[2001:db8:0:1::8]:3"));
  EXPECT_FALSE(counts.IsFull("[2001:db8:0:2::7]:3"));
}

TEST(AddressCounts, AUnixSocketIsNotCounted) {
  AddressCounts counts;
  counts.set_count_max(1);
  for (const char* peer : {"/run/fairlock.sock:0", "fairlock.sock:0", ":0"}) {
    counts.Add(peer);
    EXPECT_FALSE(counts.IsFull(peer)) << peer;
    counts.Remove(peer);
  }
  EXPECT_EQ(counts.size(), 0U);
}

TEST(AddressCounts, ZeroIsAnyNumber) {
  AddressCounts counts;
  for (int i = 0; i < 100; ++i) counts.Add("10.0.0.7:1");
  EXPECT_FALSE(counts.IsFull("10.0.0.7:1"));
  // Connections are counted even while no limit is set.
  counts.set_count_max(100);
  EXPECT_TRUE(counts.IsFull("10.0.0.7:1"));
}

TEST(AddressCounts, NothingIsLeftOfWhoIsGone) {
  AddressCounts counts;
  counts.Add("10.0.0.7:1");
  counts.Add("[::1]:1");
  EXPECT_EQ(counts.size(), 2U);
  counts.Remove("10.0.0.7:1");
  counts.Remove("[::1]:1");
  EXPECT_EQ(counts.size(), 0U);
}

}  // namespace
}  // namespace fairlock::command
