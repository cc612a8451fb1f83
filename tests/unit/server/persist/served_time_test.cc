// Runs that take over from each other: no lease ends early, and each ends in the end.
#include "server/persist/served_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/server/persist/persist_test_support.h"

namespace fairlock::persist {
namespace {

constexpr engine::DurationMs kReconnectMs = 30'000;

// Holds by token and key.
using Name = std::pair<std::uint64_t, std::string>;

// Collects what is left of each lease.
class TimesLeft final : public engine::RowSink {
 public:
  TimesLeft(engine::LockEngine& engine, engine::TimeMs now) {
    for (std::uint64_t cursor = 0;;) {
      cursor = engine.snapshots().ScanRows(cursor, 100, {.with_time_left = true}, now, *this);
      if (cursor == 0) break;
    }
  }
  void Take(const rows::Hold& hold) override {
    if (!hold.remaining_ms) return;
    left[{hold.id.token, std::string(hold.id.key)}] = *hold.remaining_ms;
    lengths[{hold.id.token, std::string(hold.id.key)}] = hold.claim.lease_ms;
  }
  void Take(const rows::Place& /*place*/) override {}
  void Take(const rows::Cooldown& /*cooldown*/) override {}

  std::map<Name, engine::DurationMs> left;
  std::map<Name, engine::DurationMs> lengths;
};

class StoredHolds final : public storage::ChangeSink {
 public:
  explicit StoredHolds(std::set<Name>& names) : names_(names) {}
  void Apply(const storage::Change& change) override {
    rows::HoldId id;
    if (change.kind != storage::RowKind::kHold || change.is_deletion) return;
    if (storage::DecodeHoldId(change.key, id)) names_.emplace(id.token, std::string(id.key));
  }

 private:
  std::set<Name>& names_;
};

// The log that all runs share: the slices of the newest snapshot, then batches.
class SharedLog {
 public:
  void Append(storage::RecordWriter& record) {
    if (record.empty()) return;
    StoredHolds holds(stored_in_run);
    records_.emplace_back(record.Seal(storage::RecordKind::kBatch, 1, 0));
    ReplayText(records_.back(), holds);
    record.Clear();
  }
  // The batches from `first_batch` on stay.
  void ReplaceBy(std::vector<std::string> slices, std::size_t first_batch) {
    slices.insert(slices.end(), records_.begin() + static_cast<std::ptrdiff_t>(first_batch),
                  records_.end());
    records_ = std::move(slices);
  }
  std::size_t size() const { return records_.size(); }
  void Load(LoadedRows& rows) const {
    for (const std::string& record : records_) ReplayText(record, rows);
    EXPECT_TRUE(rows.Finish().ok());
  }

  std::set<Name> stored_in_run;

 private:
  static void ReplayText(const std::string& record, storage::ChangeSink& sink) {
    auto reader = storage::RecordReader::Open(record, storage::RecordKind::kBatch, 1, 0);
    storage::Change change;
    while (reader->Next(change)) sink.Apply(change);
  }

  std::vector<std::string> records_;
};

engine::EngineOptions OptionsOfAFleet() {
  engine::EngineOptions options;
  options.stores_all_places = true;
  return options;
}

// What the last run has left of each lease, and how much the next may give it.
struct Left {
  std::map<Name, engine::DurationMs> now;
  std::map<Name, engine::DurationMs> next_max;
  std::size_t counted = 0;  // leases for which the time of their last run counts
};

// One process that has taken over. The clocks of two have nothing in common.
class Run {
 public:
  Run(SharedLog& log, std::mt19937_64& chance)
      : log_(log),
        chance_(chance),
        begun_at_(1'000 + static_cast<engine::TimeMs>(chance() % 1'000'000'000)),
        until_(begun_at_ + Restore()),
        restored_(engine_, begun_at_),
        writer_(engine_, begun_at_),
        served_(rows_.served_ms(), begun_at_, until_),
        use_(engine_, chance(), begun_at_) {
    served_.WriteBegin(batch_);
    log_.Append(batch_);
    log_.stored_in_run.clear();
  }

  void ExpectAtLeast(const Left& left) const {
    for (const auto& [name, left_ms] : left.now) {
      const auto found = restored_.left.find(name);
      ASSERT_NE(found, restored_.left.end());
      EXPECT_GE(found->second, left_ms);
      EXPECT_LE(found->second, left.next_max.at(name));
    }
  }

  void Step() {
    use_.Step();
    WriteBatch();
    if (use_.now() >= served_.NextDeadline()) WriteServed();
    if (slices_.empty() && chance_() % 60 == 0) BeginSnapshot();
    if (!slices_.empty()) WriteSlice();
  }

  Left End() {
    engine_.Advance(1'000, {use_.now(), effects_});
    WriteBatch();
    const TimesLeft at_end(engine_, use_.now());
    Left left;
    left.now = at_end.left;
    for (const auto& [name, left_ms] : at_end.left) {
      const auto before = restored_.left.find(name);
      if (before == restored_.left.end() || log_.stored_in_run.contains(name)) {
        left.next_max[name] = at_end.lengths.at(name);
        continue;
      }
      const engine::DurationMs not_stored_ms = use_.now() - stored_at_ + slack_ms_;
      left.next_max[name] = std::min(left_ms + not_stored_ms, before->second);
      ++left.counted;
    }
    return left;
  }

 private:
  engine::DurationMs Restore() {
    log_.Load(rows_);
    const engine::DurationMs longest_ms = rows_.RestoreInto(
        engine_, {.now = begun_at_, .restart_grace_ms = kReconnectMs, .counts_down = true});
    engine_.restoration().EndRestore(std::max(rows_.token_ceiling(), rows_.newest_token()) + 1,
                                     {begun_at_, effects_});
    return longest_ms;
  }

  void WriteBatch() {
    GrantsOfBatch grants;
    writer_.Write({use_.now(), 0}, batch_, grants);
    log_.Append(batch_);
  }

  void WriteServed() {
    if (snapshot_at_ != 0) slack_ms_ = std::max(slack_ms_, use_.now() - snapshot_at_);
    served_.Write(use_.now(), batch_);
    log_.Append(batch_);
    stored_at_ = use_.now();
  }

  void BeginSnapshot() {
    first_batch_ = log_.size();
    snapshot_at_ = use_.now();
    served_.Write(use_.now(), slice_);
    AddSlice();
    cursor_ = 0;
  }

  void WriteSlice() {
    RowWriter sink(slice_);
    cursor_ =
        engine_.snapshots().ScanRows(cursor_, 1, {.with_all_places = true}, snapshot_at_, sink);
    if (!slice_.empty()) AddSlice();
    if (cursor_ != 0) return;
    log_.ReplaceBy(std::exchange(slices_, {}), first_batch_);
    stored_at_ = std::max(stored_at_, snapshot_at_);
  }

  void AddSlice() {
    slices_.emplace_back(slice_.Seal(storage::RecordKind::kBatch, 1, 0));
    slice_.Clear();
  }

  SharedLog& log_;
  std::mt19937_64& chance_;
  const engine::TimeMs begun_at_;
  LoadedRows rows_;
  engine::LockEngine engine_{OptionsOfAFleet()};
  engine::Effects effects_;
  const engine::TimeMs until_;
  const TimesLeft restored_;
  BatchWriter writer_;
  ServedTime served_;
  RandomUse use_;
  storage::RecordWriter batch_;
  engine::TimeMs stored_at_ = begun_at_;  // when the time served was stored last
  engine::DurationMs slack_ms_ = 0;       // what a row of a snapshot may lose
  // A snapshot under way: its slices, and the first batch that it does not contain.
  std::vector<std::string> slices_;
  storage::RecordWriter slice_;
  std::uint64_t cursor_ = 0;
  std::size_t first_batch_ = 0;
  engine::TimeMs snapshot_at_ = 0;
};

// Returns for how many leases the time of a run counted.
std::size_t TakeOverAgainAndAgain(std::uint64_t seed) {
  std::mt19937_64 chance(seed);
  SharedLog log;
  Left left;
  std::size_t counted = 0;
  for (int number = 0; number < 12; ++number) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", run " + std::to_string(number));
    Run run(log, chance);
    run.ExpectAtLeast(left);
    for (std::uint64_t steps = chance() % 300; steps > 0; --steps) run.Step();
    left = run.End();
    counted += left.counted;
  }
  return counted;
}

TEST(ServedTime, EndsNoLeaseEarlyAndEachInTheEnd) {
  std::size_t counted = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) counted += TakeOverAgainAndAgain(seed);
  EXPECT_GT(counted, 100);
}

TEST(ServedTime, IsStoredEachSecondAtFirstAndThenLessOften) {
  storage::RecordWriter record;
  ServedTime served(0, 5'000, 5'000 + 3'600'000);
  int times = 0;
  for (engine::TimeMs now = 5'000; now <= 5'000 + 3'600'000; now += 100) {
    if (now < served.NextDeadline()) continue;
    served.Write(now, record);
    ++times;
  }
  EXPECT_GT(times, 60);
  EXPECT_LT(times, 120);
  // No lease from before is left.
  served.Write(5'000 + 3'600'000, record);
  EXPECT_EQ(served.NextDeadline(), engine::kNever);
}

TEST(ServedMarks, ALeaseRunsFromTheNextRunUnlessItsTimeLeftIsStored) {
  ServedMarks marks;
  const auto mark = [&](std::uint64_t served_ms, std::string_view text) {
    storage::RecordWriter record;
    PutRow(record,
           storage::MetaRow{.name = storage::MetaName::kServed, .number = served_ms, .text = text});
    struct Sink final : storage::ChangeSink {
      explicit Sink(ServedMarks& the_marks) : marks(the_marks) {}
      void Apply(const storage::Change& change) override { marks.Take(change); }
      ServedMarks& marks;
    } sink(marks);
    Replay(record, sink);
    return marks.count();
  };
  mark(1'000, storage::kServedBegin);
  const ServedMarks::Count stored = mark(4'000, "");
  mark(5'000, "");
  mark(5'500, storage::kServedBegin);
  const ServedMarks::Count last = mark(8'000, "");
  marks.Finish();
  EXPECT_EQ(marks.served_ms(), 8'000);
  EXPECT_EQ(marks.PassedMs(stored, true), 3'000);
  EXPECT_EQ(marks.PassedMs(stored, false), 2'500);
  EXPECT_EQ(marks.PassedMs(last, true), 0);
  EXPECT_EQ(marks.PassedMs(last, false), 0);
  EXPECT_EQ(marks.PassedMs(0, true), 7'000);
}

}  // namespace
}  // namespace fairlock::persist
