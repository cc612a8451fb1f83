#include "cli/views/wait_chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace fairlock::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Locks as a test writes them, with their queues.
class WrittenLocks : public LockSource {
 public:
  LockView Lock(const std::string& key) override { return locks_[key]; }
  std::vector<PlaceView> Queue(const std::string& key) override { return queues_[key]; }
  std::vector<std::string> QueuesOf(const std::string& owner) override {
    std::vector<std::string> keys = far_back[owner];
    for (const auto& [key, queue] : queues_) {
      for (const PlaceView& place : queue) {
        if (place.who.owner == owner) keys.push_back(key);
      }
    }
    return keys;
  }
  bool IsStarting() override { return is_starting; }

  LockView& lock(const std::string& key) { return locks_[key]; }

  HolderView& Hold(const std::string& key, const std::string& owner, std::int64_t limit = 1) {
    LockView& lock = locks_[key];
    lock.mode = "exclusive";
    HolderView& holder = lock.holders.emplace_back();
    holder.who.owner = owner;
    holder.who.is_connected = true;
    holder.who.limit = limit;
    holder.token = 7;
    holder.held_ms = 4000;
    return holder;
  }

  // Adds one place with the same options to the queues of all keys.
  void Wait(const std::vector<std::string>& keys, const std::string& owner, std::int64_t limit = 1,
            const std::string& state = "waiting") {
    for (const std::string& key : keys) {
      PlaceView& place = queues_[key].emplace_back();
      place.who.owner = owner;
      place.who.address = "of " + owner;
      place.who.mode = "exclusive";
      place.who.limit = limit;
      place.who.key_count = static_cast<std::int64_t>(keys.size());
      place.position = static_cast<std::int64_t>(queues_[key].size());
      place.state = state;
      if (state != "waiting") place.keep_ms = 40'000;
    }
  }

  PlaceView& place(const std::string& key, std::size_t index) { return queues_[key][index]; }

  bool is_starting = false;
  std::map<std::string, std::vector<std::string>> far_back;  // beyond the places in Queue()

 private:
  std::map<std::string, LockView> locks_;
  std::map<std::string, std::vector<PlaceView>> queues_;
};

class WaitChains : public testing::Test {
 protected:
  WaitChain Find(const std::string& owner, const std::string& key) {
    return FindChain(RequestOf(owner, key, locks), locks);
  }
  std::string Text(const std::string& owner, const std::string& key) {
    return ChainText(Find(owner, key), screen);
  }
  // "DEPTH REASON OWNER" of each link.
  std::vector<std::string> Links(const std::string& owner, const std::string& key) {
    std::vector<std::string> texts;
    for (const ChainLink& link : Find(owner, key).links) {
      texts.push_back(std::to_string(link.depth) + " " + std::string(link.reason) +
                      (link.owner.empty() ? "" : " " + link.owner));
    }
    return texts;
  }

  WrittenLocks locks;
  Screen screen;
};

TEST_F(WaitChains, LeadsThroughAMultiLockToItsOtherKey) {
  locks.Hold("node-120", "job1");
  locks.Wait({"node-110", "node-120"}, "job2");
  locks.Wait({"node-110"}, "job3");
  EXPECT_EQ(Text("job3", "node-110"),
            "job3 waits for node-110:\n"
            "  job2 is ahead and waits for node-110 and node-120 as one:\n"
            "    job1 has held node-120 for 4s, unlimited lease, from unknown\n");
  EXPECT_EQ(ChainSentence(Find("job3", "node-110"), screen),
            "'job2' is ahead and waits for 'node-110' and 'node-120' as one; 'job1' has held "
            "'node-120' for 4s, unlimited lease");
  EXPECT_EQ(FirstRequest("node-110", locks).owner, "job2");
}

TEST_F(WaitChains, LeadsThroughEachHolderThatWaitsItself) {
  locks.Hold("k1", "a");
  locks.Hold("k2", "b");
  locks.Wait({"k1"}, "b");
  locks.Wait({"k2"}, "c");
  EXPECT_THAT(Links("c", "k2"), ElementsAre("0 held b", "1 held a"));
  EXPECT_THAT(Text("c", "k2"), HasSubstr("from unknown, and waits for k1:\n    a has held it"));
  EXPECT_TRUE(LeadsOn(Find("c", "k2")));
  EXPECT_FALSE(LeadsOn(Find("b", "k1")));
}

TEST_F(WaitChains, AnOwnerWithSeveralRequestsWaitsForEach) {
  locks.Hold("k1", "a");
  locks.Hold("k2", "b");
  locks.Hold("k3", "c");
  locks.Wait({"k2"}, "a");
  locks.Wait({"k3"}, "a");
  EXPECT_EQ(Text("w", "k1"),
            "w waits for k1:\n"
            "  a has held it for 4s, unlimited lease, from unknown, and waits for k2, and for k3:\n"
            "    b has held k2 for 4s, unlimited lease, from unknown\n"
            "    c has held k3 for 4s, unlimited lease, from unknown\n");
}

TEST_F(WaitChains, AMultiLockInTheMiddleOfTheQueueCounts) {
  locks.Hold("k", "a");
  locks.Hold("other", "slow");
  locks.Wait({"k"}, "first");
  locks.Wait({"k"}, "second");
  locks.Wait({"k", "other"}, "both");
  locks.Wait({"k"}, "last");
  EXPECT_THAT(Links("last", "k"), ElementsAre("0 line first", "1 held a", "0 line both",
                                              "1 line first", "1 held slow"));
}

TEST_F(WaitChains, AnOwnerMayWaitBeyondThePlacesThatAreRead) {
  locks.Hold("k1", "b");
  locks.Hold("k2", "a");
  locks.Wait({"k2"}, "first");
  locks.far_back["b"] = {"k1", "k2"};
  EXPECT_THAT(Links("w", "k1"), ElementsAre("0 held b", "1 line first", "2 held a"));
}

TEST_F(WaitChains, ALoopEndsWhereItCloses) {
  locks.Hold("k1", "a");
  locks.Hold("k2", "b");
  locks.Wait({"k2"}, "a");
  locks.Wait({"k1"}, "b");
  const std::vector<ChainLink> chain = Find("a", "k2").links;
  ASSERT_EQ(chain.size(), 2);
  EXPECT_FALSE(chain[0].is_loop);
  EXPECT_TRUE(chain[1].is_loop);
  EXPECT_THAT(Text("a", "k2"), HasSubstr("and waits for k2: this closes a loop\n"));
}

TEST_F(WaitChains, WhatIsExplainedIsNotRepeated) {
  locks.Hold("k1", "a");
  locks.Hold("k2", "b", 2);
  locks.Hold("k2", "c", 2);
  locks.Hold("k3", "a");
  locks.Wait({"k1"}, "b");
  locks.Wait({"k3"}, "c");
  locks.Hold("k4", "end");
  locks.Wait({"k4"}, "a");
  locks.Wait({"k2"}, "w");
  EXPECT_THAT(Links("w", "k2"),
              ElementsAre("0 held b", "1 held a", "2 held end", "0 held c", "1 held a"));
  EXPECT_THAT(Text("w", "k2"), HasSubstr("and waits for k4 (explained above)\n"));
}

TEST_F(WaitChains, DepthAndSizeAreBounded) {
  for (int i = 0; i < 20; ++i) {
    locks.Hold("k" + std::to_string(i), "o" + std::to_string(i));
    locks.Wait({"k" + std::to_string(i)}, "o" + std::to_string(i + 1));
  }
  EXPECT_EQ(Find("o20", "k19").links.size(), kChainDepth);
  EXPECT_TRUE(Find("o20", "k19").links.back().is_cut);

  for (int holder = 0; holder < 4; ++holder) {
    for (int depth = 0; depth < 4; ++depth) {
      const std::string owner = std::to_string(holder) + "," + std::to_string(depth);
      locks.Hold(depth == 0 ? "root" : "of " + std::to_string(holder) + std::to_string(depth),
                 owner, 4);
      for (int many = 0; many < 3; ++many) {
        const std::string key = "many " + owner + std::to_string(many);
        locks.Hold(key, "end");
        locks.Wait({key}, owner);
      }
      locks.Wait({"of " + std::to_string(holder) + std::to_string(depth + 1)}, owner);
    }
  }
  EXPECT_EQ(Find("new", "root").links.size(), kChainLinks);
  EXPECT_TRUE(Find("new", "root").links.back().is_cut);
}

TEST_F(WaitChains, SaysWhoseLimitItIs) {
  locks.Hold("pool", "x", 5);
  locks.Hold("pool", "y", 2);
  EXPECT_THAT(Links("one", "pool"), ElementsAre("0 held y", "0 held x"));
  locks.Wait({"pool"}, "w", 5);
  EXPECT_THAT(Links("w", "pool"), ElementsAre("0 limit y", "0 held x"));
  EXPECT_THAT(Text("w", "pool"), HasSubstr("; its LIMIT 2 admits no more\n"));

  locks.lock("pool").override_limit = 2;
  locks.lock("pool").holders[1].who.limit = 5;
  EXPECT_THAT(Links("w", "pool"), ElementsAre("0 limit x", "0 limit y"));
  EXPECT_THAT(Text("w", "pool"), HasSubstr("; an operator's LIMIT 2 admits no more"));
  locks.lock("pool").override_limit = 3;
  EXPECT_THAT(Links("w", "pool"), ElementsAre());
}

TEST_F(WaitChains, ReadersAndWritersExcludeEachOther) {
  locks.Hold("k", "reader");
  locks.lock("k").mode = "shared";
  EXPECT_THAT(Links("writer", "k"), ElementsAre("0 shared reader"));
  EXPECT_TRUE(FindChain({.owner = {}, .keys = {"k"}, .is_shared = true}, locks).links.empty());
}

TEST_F(WaitChains, AnAbsentOwnerBlocksOnlyWithASlotOrAKeptPlace) {
  locks.Wait({"k"}, "gone", 1, "reserved");
  EXPECT_EQ(Text("w", "k"),
            "w waits for k:\n  it is reserved for gone, which is absent, for another 40s\n");
  EXPECT_THAT(Links("gone", "k"), ElementsAre());
  EXPECT_TRUE(LeadsOn(Find("w", "k")));

  locks.Hold("k", "a");
  locks.place("k", 0).state = "absent";
  EXPECT_THAT(Links("w", "k"), ElementsAre("0 line gone", "1 held a"));
  EXPECT_THAT(Text("w", "k"), HasSubstr("gone is ahead, absent: its place is kept for another"));

  // A place whose connection was closed has the number of the next one.
  locks.Wait({"k"}, "w");
  locks.place("k", 1).position = 1;
  EXPECT_THAT(Links("w", "k"), ElementsAre("0 held a"));
}

TEST_F(WaitChains, StatesOfTheLockNameNoOwner) {
  locks.lock("k").cooling_ms = 59'000;
  EXPECT_EQ(Text("", "k"),
            "A new request for k would wait:\n  it is in cooldown for another 59s\n");
  locks.lock("k").override_limit = 0;
  EXPECT_THAT(Links("w", "k"), ElementsAre("0 drained"));
  locks.is_starting = true;
  EXPECT_THAT(Links("w", "k"), ElementsAre("0 starting"));
  EXPECT_TRUE(IsStarting(Find("w", "k")));
  locks.lock("value").type = "hash";
  EXPECT_THAT(Links("w", "value"), ElementsAre("0 value"));
}

}  // namespace
}  // namespace fairlock::cli
