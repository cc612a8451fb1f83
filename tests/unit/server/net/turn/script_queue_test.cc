// Whose script comes next.
#include "server/net/turn/script_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace fairlock::net {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

struct Sender final : ScriptSender {
  Sender() = default;  // makes it no aggregate
};

TEST(ScriptQueue, ThoseWhoHaveUsedNothingComeInTheOrderOfArrival) {
  ScriptQueue queue;
  std::array<Sender, 3> senders;
  for (Sender& sender : senders) queue.Add(sender, "user 192.0.2.1");
  for (Sender& sender : senders) EXPECT_EQ(queue.TakeNext(), &sender);
  EXPECT_TRUE(queue.empty());
}

TEST(ScriptQueue, OneConnectionComesBeforeManyOfItsAccountThatHaveRunScripts) {
  ScriptQueue queue;
  std::array<Sender, 50> flood;
  for (Sender& sender : flood) queue.Charge(sender, "same", 100 * kMs);
  for (Sender& sender : flood) queue.Add(sender, "same");
  Sender little;
  queue.Add(little, "same");
  EXPECT_EQ(queue.TakeNext(), &little);
}

TEST(ScriptQueue, WhatAScriptHasLeftIsChargedToItsAccount) {
  ScriptQueue queue;
  std::array<Sender, 2> senders;
  queue.ChargeLast(kMs);  // nobody has run anything
  queue.Charge(senders[0], "one", kMs);
  queue.ChargeLast(2 * kMs);
  queue.Charge(senders[1], "other", 2 * kMs);
  queue.Add(senders[0], "one");
  queue.Add(senders[1], "other");
  EXPECT_EQ(queue.TakeNext(), &senders[1]);
}

TEST(ScriptQueue, AnAccountWaitsForOneScriptOfAFloodOfConnectionsOfAnother) {
  ScriptQueue queue;
  std::array<Sender, 50> flood;
  for (Sender& sender : flood) queue.Add(sender, "flood");
  Sender little;
  queue.Add(little, "little");
  ScriptSender* const first = queue.TakeNext();
  EXPECT_EQ(first, flood.data());
  queue.Charge(*first, "flood", 100 * kMs);
  EXPECT_EQ(queue.TakeNext(), &little);
  // The scripts of this sender are short, so it comes next each time, although all of the flood are
  // new.
  for (int i = 0; i < 90; ++i) {
    queue.Charge(little, "little", kMs);
    queue.Add(little, "little");
    ASSERT_EQ(queue.TakeNext(), &little) << i;
  }
}

TEST(ScriptQueue, AccountsShareTheTimeEvenly) {
  ScriptQueue queue;
  struct Account {
    std::string name;
    std::uint64_t script_ns;
    std::array<Sender, 10> senders = {};
    std::uint64_t used_ns = 0;
  };
  std::array<Account, 3> accounts = {{{.name = "a", .script_ns = 1 * kMs},
                                      {.name = "b", .script_ns = 10 * kMs},
                                      {.name = "c", .script_ns = 100 * kMs}}};
  for (Account& account : accounts) {
    for (Sender& sender : account.senders) queue.Add(sender, account.name);
  }
  for (int i = 0; i < 5'000; ++i) {
    ScriptSender* const next = queue.TakeNext();
    for (Account& account : accounts) {
      for (Sender& sender : account.senders) {
        if (&sender != next) continue;
        account.used_ns += account.script_ns;
        queue.Charge(sender, account.name, account.script_ns);
        queue.Add(sender, account.name);
      }
    }
  }
  for (const Account& account : accounts) {
    EXPECT_NEAR(static_cast<double>(account.used_ns), static_cast<double>(accounts[0].used_ns),
                200.0 * kMs)
        << account.name;
  }
}

TEST(ScriptQueue, TimeUsedWhileNobodyWaitedDoesNotCount) {
  ScriptQueue queue;
  Sender busy;
  for (int i = 0; i < 1000; ++i) queue.Charge(busy, "busy", 100 * kMs);
  Sender other;
  queue.Charge(other, "other", 10 * kMs);
  queue.Add(other, "other");
  queue.Add(busy, "busy");
  // The latest script of each counts, so the other comes next, but then they take turns.
  EXPECT_EQ(queue.TakeNext(), &other);
  int before_busy = 0;
  do {
    queue.Charge(other, "other", 10 * kMs);
    queue.Add(other, "other");
    ++before_busy;
  } while (queue.TakeNext() == &other);
  EXPECT_LE(before_busy, 11);
}

TEST(ScriptQueue, WhoIsErasedIsNotServed) {
  ScriptQueue queue;
  std::array<Sender, 3> senders;
  for (Sender& sender : senders) queue.Add(sender, "user");
  queue.EraseIf([&](const ScriptSender* sender) { return sender != &senders[1]; });
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_EQ(queue.TakeNext(), &senders[1]);
}

TEST(ScriptQueue, ForgetsAccountsOfWhichNoneWaits) {
  ScriptQueue queue;
  Sender waiting;
  queue.Add(waiting, "waiting");
  for (std::size_t i = 0; i < 3 * ScriptQueue::kAccountsMax; ++i) {
    Sender sender;
    queue.Charge(sender, std::to_string(i), kMs);
  }
  EXPECT_LE(queue.accounts(), ScriptQueue::kAccountsMax);
  EXPECT_EQ(queue.TakeNext(), &waiting);
}

}  // namespace
}  // namespace fairlock::net
