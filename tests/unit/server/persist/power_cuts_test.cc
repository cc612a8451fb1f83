// Crashes a server at every write, and at random times. What comes back is the state after one of
// its batches, and no batch that was promised to be durable is missing.
//
//   FAIRLOCK_POWER_CUTS=100000 build/release/bin/unit_persist --gtest_filter='PowerCuts.*'
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <functional>
#include <optional>

#include "storage/log/journal.h"
#include "storage/records/token_blocks.h"
#include "tests/doubles/faulty_store.h"
#include "tests/unit/server/persist/persist_test_support.h"

namespace fairlock::persist {
namespace {

using storage::Durability;

constexpr storage::LogId kLogId = {'c', 'u', 't', 's'};
constexpr engine::DurationMs kGraceMs = 50;

std::uint64_t CountOfRuns() {
  const char* given = std::getenv("FAIRLOCK_POWER_CUTS");
  return given == nullptr ? 300 : std::strtoull(given, nullptr, 10);
}

// What dies: only the process, or the whole machine. This determines what may be lost.
enum class Death : std::uint8_t { kProcess, kMachine };

// A server without client sockets, from its start with the stored state to its death.
class Life {
 public:
  Life(storage::FaultyStore& store, Durability durability) : store_(store) {
    auto end = LoadLog(store, rows_);
    EXPECT_TRUE(end.ok()) << end.status().message();
    EXPECT_TRUE(rows_.Finish().ok());
    first_token_ = storage::FirstToken({.stored_ceiling = rows_.token_ceiling()});
    engine_.emplace(engine::EngineOptions{.reconnect_grace_ms = 100});
    rows_.RestoreInto(*engine_, {.now = kStart, .unix_ms = 0, .restart_grace_ms = kGraceMs});
    engine_->restoration().EndRestore(first_token_, {kStart, effects_});
    engine_->CheckInvariants();
    last_batch_ = end->next_batch - 1;
    // The machine's clock is always wrong, so only the stored ceiling prevents repeated tokens.
    journal_.emplace(store, end.value(),
                     storage::JournalOptions{.durability = durability,
                                             .flush_interval = std::chrono::hours(1),
                                             .quick_max = std::chrono::hours(1),
                                             .monotonic_ns = [] { return std::uint64_t{1}; }},
                     [] {});
    writer_.emplace(*engine_, kStart);
    PutRow(batch_, storage::MetaRow{.name = storage::MetaName::kTokenCeiling,
                                    .number = first_token_ + storage::kTokenBlock});
    Append(storage::AppendMode::kDurable);
    journal_->AwaitWritten();
  }

  RowTexts state() { return RowsIn(*engine_, kStart); }
  std::uint64_t last_batch() const { return last_batch_; }
  engine::Token first_token() const { return first_token_; }
  engine::Token next_token() const { return engine_->next_token(); }

  // Runs random turns until this many batches have been written or the store fails. `note` receives
  // the state after each batch.
  void Run(std::uint64_t seed, std::uint64_t batches,
           const std::function<void(std::uint64_t, RowTexts)>& note) {
    RandomUse use(*engine_, seed, kStart);
    std::mt19937_64 chance(seed);
    const std::uint64_t end = last_batch_ + batches;
    for (int turn = 0; turn < 10'000 && last_batch_ < end; ++turn) {
      for (std::uint64_t step = chance() % 4; step > 0; --step) use.Step();
      GrantsOfBatch grants;
      writer_->Write({use.now(), 0}, batch_, grants);
      if (!batch_.empty()) {
        const bool is_at_once = chance() % 2 == 0;
        const auto mode =
            is_at_once ? storage::AppendMode::kAtOnce : storage::AppendMode::kGathered;
        if (!Append(mode)) break;
        note(last_batch_, RowsIn(*engine_, use.now()));
      }
      GoOnWithSnapshot(chance, use.now());
      if (chance() % 3 == 0) journal_->AwaitWritten();
    }
    journal_->AwaitWritten();
    progress_ = journal_->Look();
    // Connections end after the death, and what that changes is not written.
    writer_.reset();
  }

  // The last batch that clients were told is safe from this kind of death.
  std::uint64_t promised(Death death) const {
    return death == Death::kProcess ? progress_.completed_batch : progress_.durable_batch;
  }

 private:
  static constexpr engine::TimeMs kStart = 1000;

  bool Append(storage::AppendMode mode) {
    if (mode == storage::AppendMode::kAtOnce && journal_->Look().completed_batch != last_batch_) {
      mode = storage::AppendMode::kGathered;
    }
    const std::uint64_t number = journal_->Append(batch_, mode).batch;
    if (number != 0) last_batch_ = number;
    return number != 0;
  }

  // Takes slices of a snapshot between batches, as a server does.
  void GoOnWithSnapshot(std::mt19937_64& chance, engine::TimeMs now) {
    if (!cursor_) {
      if (chance() % 10 != 0) return;
      journal_->BeginSnapshot();
      cursor_ = 0;
      PutRow(slice_, storage::MetaRow{.name = storage::MetaName::kTokenCeiling,
                                      .number = first_token_ + storage::kTokenBlock});
    }
    RowWriter rows(slice_);
    cursor_ = engine_->snapshots().ScanRows(*cursor_, 1, {}, now, rows);
    if (!slice_.empty()) journal_->AppendSlice(slice_);
    if (*cursor_ != 0) return;
    cursor_.reset();
    journal_->FinishSnapshot();
  }

  storage::FaultyStore& store_;
  LoadedRows rows_;
  engine::Token first_token_ = 0;
  std::optional<engine::LockEngine> engine_;
  engine::Effects effects_;
  std::optional<BatchWriter> writer_;
  storage::RecordWriter batch_;
  storage::RecordWriter slice_;
  std::optional<std::uint64_t> cursor_;
  std::uint64_t last_batch_ = 0;
  storage::JournalProgress progress_;
  std::optional<storage::Journal> journal_;
};

// Makes one server live and die repeatedly.
class PowerCuts : public testing::Test {
 protected:
  void SetUp() override { BeginAnew(); }

  void BeginAnew() {
    store_.emplace();
    ASSERT_TRUE(BeginLog(*store_, kLogId).ok());
    states_.clear();
    newest_token_ = 0;
    promised_ = 0;
  }

  // Runs one life until its death, and compares what comes back with what the previous life
  // promised.
  void LiveAndDie(std::uint64_t seed, Durability durability, Death death,
                  std::optional<std::uint64_t> failing_write) {
    std::uint64_t promised = 0;
    {
      Life life(*store_, durability);
      ASSERT_FALSE(HasFatalFailure());
      CheckComeback(life);
      if (failing_write) {
        store_->FailWrite(*failing_write, storage::Failed("no more"), (seed & 1) != 0);
      }
      states_ = {{life.last_batch(), life.state()}};
      life.Run(seed, 1 + seed % 25, [&](std::uint64_t batch, RowTexts state) {
        states_.emplace_back(batch, std::move(state));
      });
      promised = life.promised(death);
      newest_token_ = std::max(newest_token_, life.next_token());
    }
    std::mt19937_64 chance(seed);
    if (death == Death::kProcess) {
      store_->CrashProcess();
    } else {
      const std::size_t unsynced = store_->unsynced();
      store_->CrashMachine({.unsynced_kept = unsynced == 0 ? 0 : chance() % (unsynced + 1)});
    }
    promised_ = promised;
  }

  void CheckComeback(Life& life) {
    if (states_.empty()) return;
    // No token that was granted before can be granted again.
    ASSERT_GE(life.first_token(), newest_token_);
    // Starting has itself written one batch.
    const std::uint64_t batch = life.last_batch() - 1;
    ASSERT_GE(batch, promised_);
    const auto found = std::find_if(states_.begin(), states_.end(),
                                    [&](const auto& state) { return state.first == batch; });
    ASSERT_NE(found, states_.end()) << "batch " << batch;
    ASSERT_EQ(WithoutCooling(life.state()), WithoutCooling(found->second)) << "batch " << batch;
  }

  // A cooldown comes back with the length it had when it was written, and by now may not have a row
  // any more.
  static RowTexts WithoutCooling(RowTexts texts) {
    std::erase_if(texts, [](const auto& row) {
      return row.first.first == static_cast<int>(storage::RowKind::kCooldown);
    });
    return texts;
  }

  std::optional<storage::FaultyStore> store_;
  std::deque<std::pair<std::uint64_t, RowTexts>> states_;
  std::uint64_t promised_ = 0;
  engine::Token newest_token_ = 0;
};

TEST_F(PowerCuts, AtEveryWriteOfAScript) {
  for (std::uint64_t write = 1; write < 40; ++write) {
    for (const Durability durability : {Durability::kProcess, Durability::kMachine}) {
      LiveAndDie(17, durability, Death::kMachine, write);
      ASSERT_FALSE(HasFatalFailure()) << "write " << write;
    }
  }
}

TEST_F(PowerCuts, AtRandom) {
  for (std::uint64_t seed = 1; seed <= CountOfRuns(); ++seed) {
    std::mt19937_64 chance(seed);
    std::optional<std::uint64_t> failing_write;
    if (chance() % 3 == 0) failing_write = 1 + chance() % 20;
    LiveAndDie(seed, chance() % 2 == 0 ? Durability::kProcess : Durability::kMachine,
               chance() % 2 == 0 ? Death::kProcess : Death::kMachine, failing_write);
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    if (seed % 20 != 0) continue;
    BeginAnew();
  }
}

}  // namespace
}  // namespace fairlock::persist
