#include "server/access/failed_log_ins.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlock::access {
namespace {

constexpr engine::TimeMs kStart = 1'000'000;

TEST(FailedLogIns, SoManyAtOnceAndAgainInEachMinute) {
  FailedLogIns failures;
  failures.set_per_minute_max(20);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(failures.WaitOf("10.0.0.1:1", kStart), 0) << i;
    failures.Add("10.0.0.1:" + std::to_string(i), kStart);
  }
  EXPECT_EQ(failures.WaitOf("10.0.0.1:99", kStart), 3000);
  EXPECT_EQ(failures.WaitOf("10.0.0.1:99", kStart + 2999), 1);
  EXPECT_EQ(failures.WaitOf("10.0.0.1:99", kStart + 3000), 0);
  EXPECT_EQ(failures.WaitOf("10.0.0.2:1", kStart), 0);
}

TEST(FailedLogIns, WhatIsTakenBackDoesNotCount) {
  FailedLogIns failures;
  failures.set_per_minute_max(1);
  failures.Add("a:1", kStart);
  EXPECT_GT(failures.WaitOf("a:1", kStart), 0);
  failures.TakeBack("a:1");
  EXPECT_EQ(failures.WaitOf("a:1", kStart), 0);
}

TEST(FailedLogIns, ZeroCountsNothing) {
  FailedLogIns failures;
  for (int i = 0; i < 1000; ++i) failures.Add("a:1", kStart);
  EXPECT_EQ(failures.WaitOf("a:1", kStart), 0);
}

TEST(FailedLogIns, RemembersTheWorstOfTooManyAddresses) {
  FailedLogIns failures;
  failures.set_per_minute_max(2);
  failures.Add("worst:1", kStart);
  failures.Add("worst:1", kStart);
  for (std::size_t i = 0; i < 2 * FailedLogIns::kAddressesMax; ++i) {
    failures.Add("h" + std::to_string(i) + ":1", kStart);
  }
  EXPECT_GT(failures.WaitOf("worst:1", kStart), 0);
}

TEST(NetworkOf, AddressesWithoutTheirPorts) {
  EXPECT_EQ(NetworkOf("10.0.0.7:51234"), "10.0.0.7");
  EXPECT_EQ(NetworkOf("/run/fairlock.sock:0"), "/run/fairlock.sock:0");
  EXPECT_EQ(NetworkOf("[2001:db8:1:2:3:4:5:6]:1"), "2001:db8:1:2:");
  EXPECT_EQ(NetworkOf("[2001:db8:1:2::9]:1"), "2001:db8:1:2:");
  EXPECT_EQ(NetworkOf("[2001:db8::9]:1"), "2001:db8:0:0:");
  EXPECT_EQ(NetworkOf("[::1]:1"), "0:0:0:0:");
  EXPECT_EQ(NetworkOf("[::]:1"), "0:0:0:0:");
  EXPECT_EQ(NetworkOf("[1::2:3:4:5:6:7]:1"), "1:0:2:3:");
  EXPECT_EQ(NetworkOf("[fe80::1%eth0]:1"), "fe80:0:0:0:");
  EXPECT_EQ(NetworkOf(""), "");
}

}  // namespace
}  // namespace fairlock::access
