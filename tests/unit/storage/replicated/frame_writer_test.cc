#include "storage/replicated/frame_writer.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

namespace fairlock::storage::replicated {
namespace {

using Progress = FrameWriter::Progress;

const PartitionKeys kKeys("/fairlock/t/p/00/");

// An etcd in memory that executes a transaction as etcd would, at one revision.
class Register {
 public:
  etcd::TxnAnswer Execute(const etcd::Txn& txn) {
    etcd::TxnAnswer answer;
    bool holds = true;
    for (const etcd::Compare& compare : txn.compares) holds &= Holds(compare);
    answer.outcome = holds ? etcd::Outcome::kDone : etcd::Outcome::kRefused;
    if (holds) ++revision_;
    for (const etcd::Operation& operation : holds ? txn.then : txn.otherwise) {
      if (const auto* put = std::get_if<etcd::Put>(&operation)) {
        keys_[put->key] = {.key = put->key, .value = put->value, .mod_revision = revision_};
      } else if (const auto* range = std::get_if<etcd::DeleteRange>(&operation)) {
        keys_.erase(keys_.lower_bound(range->key), keys_.lower_bound(range->range_end));
      } else {
        const auto found = keys_.find(std::get<etcd::Get>(operation).key);
        if (found != keys_.end()) answer.found.push_back(found->second);
      }
    }
    answer.revision = revision_;
    return answer;
  }

  SeenBeat Beat() const {
    const auto found = keys_.find(kKeys.beat);
    if (found == keys_.end()) return {};
    return {.revision = found->second.mod_revision,
            .value = found->second.value,
            .beat = DecodeBeat(found->second.value).value()};
  }

  const std::map<std::string, etcd::KeyValue>& keys() const { return keys_; }
  void Erase(const std::string& key) { keys_.erase(key); }

 private:
  bool Holds(const etcd::Compare& compare) const {
    const auto found = keys_.find(compare.key);
    if (compare.target == etcd::Compare::Target::kValue) {
      return found != keys_.end() && found->second.value == compare.value;
    }
    return (found == keys_.end() ? 0 : found->second.mod_revision) == compare.revision;
  }

  std::map<std::string, etcd::KeyValue> keys_;
  std::int64_t revision_ = 1;
};

etcd::TxnAnswer Answer(etcd::Outcome outcome) {
  etcd::TxnAnswer answer;
  answer.outcome = outcome;
  return answer;
}

class FrameWriterTest : public testing::Test {
 protected:
  static FrameWriter NewWriter(const std::string& node = "a") {
    return FrameWriter(kKeys, NewRunId(), node);
  }

  FrameWriter Leader(const std::string& node = "a") {
    FrameWriter writer = NewWriter(node);
    EXPECT_EQ(writer.Take(etcd_.Execute(writer.TakeOver(etcd_.Beat()))), Progress::kCommitted);
    return writer;
  }

  Register etcd_;
};

TEST_F(FrameWriterTest, TheFirstLeaderCreatesTheRegister) {
  const FrameWriter writer = Leader();
  EXPECT_EQ(writer.committed(), etcd_.Beat());
  EXPECT_EQ(etcd_.Beat().beat.epoch, 1U);
  EXPECT_EQ(etcd_.Beat().beat.leader, "a");
}

TEST_F(FrameWriterTest, OfTwoThatTakeOverOneWins) {
  FrameWriter one = NewWriter("a");
  FrameWriter other = NewWriter("b");
  const etcd::Txn first = one.TakeOver({});
  const etcd::Txn second = other.TakeOver({});
  EXPECT_EQ(one.Take(etcd_.Execute(first)), Progress::kCommitted);
  EXPECT_EQ(other.Take(etcd_.Execute(second)), Progress::kDeposed);
  EXPECT_EQ(other.other(), etcd_.Beat());
}

TEST_F(FrameWriterTest, AnImportIsMarkedUntilItHandsOver) {
  FrameWriter writer = NewWriter("a");
  writer.TakeOver({}, 0, Beat::State::kImporting);
  EXPECT_EQ(writer.Take(etcd_.Execute(writer.txn())), Progress::kCommitted);
  EXPECT_EQ(etcd_.Beat().beat.state, Beat::State::kImporting);
  EXPECT_EQ(writer.Take(etcd_.Execute(writer.Write({.frames = {"one"}}))), Progress::kCommitted);
  EXPECT_EQ(etcd_.Beat().beat.state, Beat::State::kImporting);
  EXPECT_EQ(writer.Take(etcd_.Execute(writer.Write({.hands_over = true}))), Progress::kCommitted);
  EXPECT_EQ(etcd_.Beat().beat.state, Beat::State::kHandedOver);
}

TEST_F(FrameWriterTest, FramesAreNumberedAcrossTakeOvers) {
  FrameWriter first = Leader();
  EXPECT_EQ(first.Take(etcd_.Execute(first.Write({.frames = {"one"}}))), Progress::kCommitted);
  FrameWriter second = Leader("b");
  EXPECT_EQ(second.Take(etcd_.Execute(second.Write({.frames = {"two"}}))), Progress::kCommitted);
  EXPECT_EQ(etcd_.keys().at("/fairlock/t/p/00/f/0000000000000001").value, "one");
  EXPECT_EQ(etcd_.keys().at("/fairlock/t/p/00/f/0000000000000002").value, "two");
  EXPECT_EQ(etcd_.Beat().beat.epoch, 2U);
  EXPECT_EQ(etcd_.Beat().beat.sequence, 4U);
}

TEST_F(FrameWriterTest, ADeposedLeaderWritesNothing) {
  FrameWriter old = Leader();
  const FrameWriter next = Leader("b");
  EXPECT_EQ(old.Take(etcd_.Execute(old.Write({.frames = {"late"}}))), Progress::kDeposed);
  EXPECT_EQ(old.other(), next.committed());
  EXPECT_FALSE(etcd_.keys().contains(kKeys.FrameKey(1)));
}

TEST_F(FrameWriterTest, AStandbyCannotDeposeALeaderThatWroteSinceItLooked) {
  FrameWriter leader = Leader();
  const SeenBeat looked = etcd_.Beat();
  EXPECT_EQ(leader.Take(etcd_.Execute(leader.Write({}))), Progress::kCommitted);
  FrameWriter standby = NewWriter("b");
  EXPECT_EQ(standby.Take(etcd_.Execute(standby.TakeOver(looked))), Progress::kDeposed);
  EXPECT_EQ(leader.Take(etcd_.Execute(leader.Write({}))), Progress::kCommitted);
}

TEST_F(FrameWriterTest, ALostAnswerIsRecognisedByTheRepetition) {
  FrameWriter leader = Leader();
  const etcd::Txn txn = leader.Write({.frames = {"frame"}});
  etcd_.Execute(txn);
  EXPECT_EQ(leader.Take(Answer(etcd::Outcome::kUnknown)), Progress::kRepeat);
  EXPECT_EQ(leader.Take(etcd_.Execute(leader.txn())), Progress::kCommitted);
  EXPECT_EQ(leader.committed(), etcd_.Beat());
  EXPECT_EQ(leader.Take(etcd_.Execute(leader.Write({}))), Progress::kCommitted);
}

TEST_F(FrameWriterTest, ARequestThatArrivesTwiceIsExecutedOnce) {
  FrameWriter leader = Leader();
  const etcd::Txn txn = leader.Write({.frames = {"frame"}});
  EXPECT_EQ(leader.Take(etcd_.Execute(txn)), Progress::kCommitted);
  const SeenBeat before = etcd_.Beat();
  EXPECT_EQ(etcd_.Execute(txn).outcome, etcd::Outcome::kRefused);
  EXPECT_EQ(etcd_.Beat(), before);
}

TEST_F(FrameWriterTest, ARequestThatArrivesAfterATakeOverIsNotExecuted) {
  FrameWriter old = Leader();
  const etcd::Txn delayed = old.Write({.frames = {"delayed"}});
  EXPECT_EQ(old.Take(Answer(etcd::Outcome::kUnknown)), Progress::kRepeat);
  const FrameWriter next = Leader("b");
  EXPECT_EQ(etcd_.Execute(delayed).outcome, etcd::Outcome::kRefused);
  EXPECT_EQ(old.Take(etcd_.Execute(old.txn())), Progress::kDeposed);
  EXPECT_EQ(etcd_.Beat(), next.committed());
}

TEST_F(FrameWriterTest, ALostTakeOverIsRecognisedToo) {
  FrameWriter writer = NewWriter();
  etcd_.Execute(writer.TakeOver({}));
  EXPECT_EQ(writer.Take(Answer(etcd::Outcome::kUnknown)), Progress::kRepeat);
  EXPECT_EQ(writer.Take(etcd_.Execute(writer.txn())), Progress::kCommitted);
}

TEST_F(FrameWriterTest, TwoRunsOfOneNodeAreNotMistakenForEachOther) {
  FrameWriter one = NewWriter();
  FrameWriter other = NewWriter();
  const etcd::Txn second = other.TakeOver({});
  EXPECT_EQ(one.Take(etcd_.Execute(one.TakeOver({}))), Progress::kCommitted);
  EXPECT_EQ(other.Take(etcd_.Execute(second)), Progress::kDeposed);
}

TEST_F(FrameWriterTest, ADeletedRegisterDeposesTheLeader) {
  FrameWriter leader = Leader();
  etcd_.Erase(kKeys.beat);
  EXPECT_EQ(leader.Take(etcd_.Execute(leader.Write({}))), Progress::kDeposed);
  EXPECT_FALSE(leader.other().exists());
}

TEST_F(FrameWriterTest, ASnapshotDeletesTheFramesBeforeIt) {
  FrameWriter leader = Leader();
  for (const char* frame : {"one", "two", "three"}) {
    EXPECT_EQ(leader.Take(etcd_.Execute(leader.Write({.frames = {frame}}))), Progress::kCommitted);
  }
  const GuardedWrite snapshot{.heading = "heading", .first_frame = 3};
  EXPECT_EQ(leader.Take(etcd_.Execute(leader.Write(snapshot))), Progress::kCommitted);
  EXPECT_EQ(etcd_.keys().at(kKeys.heading).value, "heading");
  EXPECT_FALSE(etcd_.keys().contains(kKeys.FrameKey(2)));
  EXPECT_TRUE(etcd_.keys().contains(kKeys.FrameKey(3)));
}

TEST_F(FrameWriterTest, WhatIsNotExecutedIsRepeatedAndWhatCannotSucceedFails) {
  FrameWriter leader = Leader();
  leader.Write({});
  EXPECT_EQ(leader.Take(Answer(etcd::Outcome::kUnavailable)), Progress::kRepeat);
  EXPECT_EQ(leader.Take(Answer(etcd::Outcome::kNoSpace)), Progress::kRepeat);
  EXPECT_EQ(leader.Take(Answer(etcd::Outcome::kFailed)), Progress::kFailed);
}

TEST(PartitionKeys, FrameKeysAreOrderedAsTheirNumbers) {
  EXPECT_EQ(kKeys.FrameKey(1), "/fairlock/t/p/00/f/0000000000000001");
  EXPECT_LT(kKeys.FrameKey(255), kKeys.FrameKey(256));
  EXPECT_EQ(kKeys.FrameNumber(kKeys.FrameKey(0xabcdef0123456789)), 0xabcdef0123456789);
  EXPECT_EQ(kKeys.FrameNumber("/fairlock/t/p/00/f/1"), 0U);
  EXPECT_EQ(kKeys.FrameNumber("/fairlock/t/p/00/f/000000000000000g"), 0U);
}

// Leaders come and go on an etcd whose answers and requests are delayed, lost and repeated. Each
// leader commits numbers in order. Whatever was acknowledged is stored exactly once, in order and
// without gaps.
TEST(FrameWriterSimulation, AcknowledgedFramesAreNeitherLostNorWrittenTwice) {
  std::size_t acknowledged_in_all = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 chance(seed);
    Register etcd;
    std::vector<FrameWriter> runs;
    std::vector<std::string> acknowledged;
    std::vector<std::string> writing;  // the frame in progress of each run
    std::vector<etcd::Txn> delayed;
    for (int step = 0; step < 400; ++step) {
      if (!delayed.empty() && chance() % 4 == 0) {
        etcd.Execute(delayed[chance() % delayed.size()]);
      }
      if (runs.empty() || chance() % 40 == 0) {
        runs.emplace_back(kKeys, NewRunId(), "node");
        writing.emplace_back();
        runs.back().TakeOver(etcd.Beat());
      }
      const std::size_t i = chance() % runs.size();
      FrameWriter& run = runs[i];
      if (!run.is_in_progress()) {
        if (!run.committed().exists() || run.other().exists()) continue;
        writing[i] = "run " + std::to_string(i) + " step " + std::to_string(step);
        run.Write({.frames = {writing[i]}});
      }
      etcd::TxnAnswer answer = Answer(etcd::Outcome::kUnknown);
      switch (chance() % 4) {
        case 0:  // the request arrives later, perhaps more than once
          delayed.push_back(run.txn());
          break;
        case 1:  // the request is executed, but its answer is lost
          etcd.Execute(run.txn());
          break;
        default:
          answer = etcd.Execute(run.txn());
      }
      if (run.Take(answer) == Progress::kCommitted && !writing[i].empty()) {
        acknowledged.push_back(writing[i]);
      }
    }
    std::vector<std::string> stored;
    for (const auto& [key, value] : etcd.keys()) {
      if (kKeys.FrameNumber(key) == 0) continue;
      EXPECT_EQ(kKeys.FrameNumber(key), stored.size() + 1) << "seed " << seed;
      stored.push_back(value.value);
    }
    // Skips frames that are stored but not acknowledged: at most the one in progress of each
    // leader.
    std::size_t at = 0;
    for (const std::string& frame : acknowledged) {
      while (at < stored.size() && stored[at] != frame) ++at;
      ASSERT_LT(at, stored.size()) << "seed " << seed << ": lost or out of order: " << frame;
    }
    EXPECT_EQ(std::set<std::string>(stored.begin(), stored.end()).size(), stored.size());
    acknowledged_in_all += acknowledged.size();
  }
  EXPECT_GT(acknowledged_in_all, 10'000U);
}

}  // namespace
}  // namespace fairlock::storage::replicated
