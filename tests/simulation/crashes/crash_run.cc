#include "tests/simulation/crashes/crash_run.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>
#include <variant>

#include "server/persist/state_log.h"
#include "storage/records/token_blocks.h"
#include "tests/doubles/memory_store.h"
#include "tests/simulation/random.h"
#include "tests/unit/server/persist/persist_test_support.h"

namespace fairlock::simulation {
namespace {

using engine::DurationMs;
using engine::TimeMs;

constexpr DurationMs kGraceMs = 50;
constexpr int kLivesOfASeed = 4;
constexpr std::array<std::string_view, 3> kValueKeys = {"v1", "v2", "v3"};
constexpr std::array<std::string_view, 3> kPatterns = {"k*", "k1", "?2"};

// A store that stops between two writes while its gate is closed, as a disk that hangs.
class GatedStore final : public storage::Store {
 public:
  storage::Status Load(storage::RecordSink& sink) override { return content_.Load(sink); }
  storage::Status Append(std::span<const storage::StoredRecord> records,
                         storage::Durability durability) override {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return is_open_; });
    return content_.Append(records, durability);
  }
  storage::Status Replace(const storage::StoredRecord& heading,
                          std::uint64_t first_batch) override {
    return content_.Replace(heading, first_batch);
  }
  storage::Status Sync() override { return {}; }

  void SetOpen(bool is_open) {
    const std::lock_guard lock(mutex_);
    is_open_ = is_open;
    opened_.notify_all();
  }

 private:
  storage::MemoryStore content_;
  std::mutex mutex_;
  std::condition_variable opened_;
  bool is_open_ = true;
};

class MemoryHome final : public storage::LogHome {
 public:
  MemoryHome() {
    const bool has_begun = BeginLog(store_, {'s', 'i', 'm'}).ok();
    assert(has_begun);
  }

  GatedStore& store() override { return store_; }
  const storage::LogEnd& end() const override { return end_; }
  void set_end(const storage::LogEnd& end) { end_ = end; }
  bool is_copy() const override { return false; }
  storage::Status Settle() override { return {}; }
  storage::Status Check() override { return {}; }
  std::optional<std::uint64_t> FreeBytes() const override { return std::nullopt; }

 private:
  GatedStore store_;
  storage::LogEnd end_;
};

// The state as text, in two parts: what does not depend on the time, and the times that are left. A
// time is kNever if there is no end.
struct Picture {
  persist::RowTexts contents;
  std::map<std::string, DurationMs> times_left;
  std::map<std::string, DurationMs> lengths;                   // the lengths of leases, as recorded
  std::map<std::string, std::optional<std::uint32_t>> limits;  // the limits by key
  engine::Token next_token = 0;
};

// Adds rows to a picture.
class Painter final : public engine::RowSink {
 public:
  explicit Painter(Picture& picture) : picture_(picture) {}

  void Take(const rows::Hold& hold) override {
    const std::string name = NameOf("hold", hold.id);
    rows::Hold row = hold;
    row.remaining_ms.reset();
    PutRow(record_, row);
    picture_.times_left[name] = hold.remaining_ms.value_or(engine::kNever);
    picture_.lengths[name] = hold.claim.lease_ms;
  }
  void Take(const rows::Place& place) override { PutRow(record_, place); }
  void Take(const rows::Cooldown& cooldown) override {
    rows::Cooldown row = cooldown;
    row.length_ms = 1;
    PutRow(record_, row);
    picture_.times_left[NameOf("cooldown", cooldown.id)] = cooldown.length_ms;
  }
  void Take(const rows::Value& value) {
    rows::Value row = value;
    row.remaining_ms.reset();
    PutRow(record_, row);
    picture_.times_left["value " + std::string(value.id.key)] =
        value.remaining_ms.value_or(engine::kNever);
  }
  void Finish() {
    storage::RowTable table;
    persist::Replay(record_, table);
    for (const auto& [name, value] : table.rows()) {
      picture_.contents[{static_cast<int>(name.first), name.second}] = value;
    }
  }

 private:
  static std::string NameOf(std::string_view kind, const rows::HoldId& id) {
    return std::string(kind) + " " + std::string(id.key) + " " + std::to_string(id.token);
  }

  Picture& picture_;
  storage::RecordWriter record_;
};

Picture PictureOf(engine::LockEngine& engine, const values::ValueStore& values, TimeMs now,
                  bool has_all_places) {
  Picture picture;
  Painter painter(picture);
  const engine::RowDetail detail{.with_time_left = true, .with_all_places = has_all_places};
  std::uint64_t cursor = 0;
  do {
    cursor = engine.snapshots().ScanRows(cursor, 100, detail, now, painter);
  } while (cursor != 0);
  do {
    cursor = values.Scan(cursor, 100, [&](const values::Value& value) {
      painter.Take(values.RowOf(value, {.with_time_left = true}, now));
      return true;
    });
  } while (cursor != 0);
  painter.Finish();
  const engine::LimitOverrides& limits = engine.limits().Overrides(now);
  for (const std::string_view key : {"k1", "k2", "k3", "other"}) {
    picture.limits[std::string(key)] = limits.Find({0, key});
  }
  picture.next_token = engine.next_token();
  return picture;
}

std::string Readable(const std::pair<int, std::string>& name) {
  std::ostringstream text;
  text << "row of kind " << name.first << " ";
  for (const char c : name.second) {
    if (c >= ' ' && c <= '~') text << c;
  }
  return text.str();
}

// What a crash must leave of this time: all of it, but no lease need become longer than its length.
// (While its first reply waits, a lease is prolonged, and it may have been renewed meanwhile.)
DurationMs MustBeLeft(const Picture& picture, const std::string& name, DurationMs time) {
  const auto length = picture.lengths.find(name);
  const bool has_length = length != picture.lengths.end() && length->second > 0;
  return has_length ? std::min(time, length->second) : time;
}

// The first promise that is broken if `left`, which a crash leaves, is all that remains of `now`,
// which was acknowledged. After a clean stop, times go on exactly where they stood.
std::string FirstLoss(const Picture& now, const Picture& left, bool is_clean) {
  for (const auto& [name, content] : now.contents) {
    const auto found = left.contents.find(name);
    if (found == left.contents.end()) return "lost: " + Readable(name);
    if (found->second != content) return "changed: " + Readable(name);
  }
  for (const auto& [name, content] : left.contents) {
    if (!now.contents.contains(name)) return "has come back: " + Readable(name);
  }
  for (const auto& [name, time] : now.times_left) {
    const auto found = left.times_left.find(name);
    if (found == left.times_left.end()) return "lost: " + name;
    const bool is_right =
        is_clean ? found->second == time : found->second >= MustBeLeft(now, name, time);
    if (!is_right) {
      return name + " would end in " + std::to_string(found->second) + " ms instead of " +
             std::to_string(time) + " ms";
    }
  }
  for (const auto& [key, limit] : now.limits) {
    const auto number = [](const std::optional<std::uint32_t>& it) {
      return it ? std::to_string(*it) : "none";
    };
    if (left.limits.at(key) == limit) continue;
    return "override for " + key + ": " + number(left.limits.at(key)) + " instead of " +
           number(limit);
  }
  if (left.next_token < now.next_token) return "a token would be granted again";
  return {};
}

// What is the same in all lives of a seed.
struct Setting {
  bool has_overrides = false;
};

// One server without sockets, from its start with the stored state to its end.
class Life {
 public:
  Life(MemoryHome& home, const Setting& setting, Random& chance, TimeMs now)
      : home_(home), setting_(setting), chance_(chance) {
    persist::LoadedRows rows;
    home_.set_end(LoadLog(home_.store(), rows).value());
    const bool is_good = rows.Finish().ok();
    assert(is_good);
    is_sync_ = chance_.OneIn(2);
    persist::StateLogOptions options;
    options.durability = is_sync_ ? persist::Durability::kSync : persist::Durability::kAsync;
    options.restart_grace_ms = kGraceMs;
    options.snapshots = {.batch_bytes = static_cast<std::uint64_t>(chance_.Between(200, 4'000)),
                         .locks_of_a_slice = 1};
    options.values = &values_;
    options.wake = [] {};
    // The machine's clock is always wrong, so only the stored ceiling prevents repeated tokens.
    options.unix_ms = [] { return std::int64_t{0}; };
    options.monotonic_ns = [] { return std::uint64_t{1}; };
    log_.emplace(engine_, home_, rows, std::move(options), engine::Step{now, effects_});
    log_->AwaitJournal();
    log_->BeginTurn(now);
    use_.emplace(engine_, chance_.Next(), now);
  }

  TimeMs now() const { return use_->now(); }

  // Runs turns until a comparison fails, or the life is over.
  void Run(int turns, CrashReport& report) {
    log_->EndTurn(now());  // the turn in which the log became ready
    for (int turn = 0; turn < turns && report.failure.empty(); ++turn) {
      log_->BeginTurn(now());
      for (std::uint64_t step = chance_.Below(4); step > 0; --step) use_->Step();
      ChangeValues();
      ChangeLimits();
      EndWhatIsDue();
      log_->Seal(now());
      Compare(report);
      log_->EndTurn(now());
      MoveGate();
      if (report.failure.empty()) Compare(report);
    }
    report.snapshots += log_->Figures().snapshots;
  }

  void Crash() {
    OpenGate();
    log_.reset();
    use_.reset();
  }

  void StopCleanly(CrashReport& report) {
    OpenGate();
    log_->BeginTurn(now());
    log_->Stop(now());
    engine_.Freeze();
    values_.Freeze();
    report.failure = FirstLoss(PictureOf(engine_, values_, now(), true), Restored(true), true);
    ++report.crash_points;
    log_.reset();
    use_.reset();
  }

 private:
  // While the gate is closed, what was decided is neither stored nor acknowledged.
  void Compare(CrashReport& report) {
    if (!is_open_) return;
    log_->AwaitJournal();
    if (!chance_.OneIn(2)) return;
    ++report.crash_points;
    report.failure = FirstLoss(PictureOf(engine_, values_, now(), false), Restored(false), false);
  }

  // What the next start would find.
  Picture Restored(bool has_all_places) {
    persist::LoadedRows rows;
    const bool is_good = LoadLog(home_.store(), rows).ok() && rows.Finish().ok();
    assert(is_good);
    engine::Effects effects;
    engine::LockEngine engine{engine::EngineOptions{}};
    values::ValueStore values(0);
    rows.RestoreInto(engine, {.now = now(), .unix_ms = 0, .restart_grace_ms = kGraceMs});
    rows.RestoreInto(values, now());
    engine.restoration().EndRestore(storage::FirstToken({.stored_ceiling = rows.token_ceiling()}),
                                    {now(), effects});
    // Without the override that admitted them, holds may exceed the limits that clients gave.
    if (!setting_.has_overrides) engine.CheckInvariants();
    return PictureOf(engine, values, now(), has_all_places);
  }

  // Only the journal's own thread, as with the mode sync, may wait for the store.
  void MoveGate() {
    if (!is_open_) {
      if (chance_.OneIn(3)) use_->PassTime(chance_.Between(0, 70'000));
      if (chance_.OneIn(8)) OpenGate();
    } else if (is_sync_ && chance_.OneIn(20)) {
      is_open_ = false;
      home_.store().SetOpen(false);
    }
  }

  void OpenGate() {
    is_open_ = true;
    home_.store().SetOpen(true);
    log_->AwaitJournal();
    log_->BeginTurn(now());
    EndWhatIsDue();
    log_->Seal(now());
    log_->AwaitJournal();
  }

  // What is due need not have ended, but the comparison would end overrides and values.
  void EndWhatIsDue() {
    values_.Advance(now(), 5);
    engine_.limits().Overrides(now());
  }

  void ChangeValues() {
    if (!chance_.OneIn(4)) return;
    const std::string_view key = kValueKeys[chance_.Below(kValueKeys.size())];
    values::Value* value = values_.Find({0, key}, now());
    if (value != nullptr && chance_.OneIn(4)) return values_.Remove(*value);
    if (value == nullptr) value = &values_.Create({0, key}, values::Hash());
    if (value->size() == 0 || chance_.OneIn(2)) {
      const std::string text = std::to_string(chance_.Below(3));
      std::get<values::Hash>(value->content).Set("f", text);
      values_.NoticeChange(*value);
    }
    if (chance_.OneIn(2)) {
      const bool is_endless = chance_.OneIn(3);
      values_.SetTtl(*value, is_endless ? std::nullopt : std::optional(chance_.Between(1, 2) * 900),
                     now());
    }
  }

  void ChangeLimits() {
    if (!setting_.has_overrides || !chance_.OneIn(8)) return;
    const std::string pattern(kPatterns[chance_.Below(kPatterns.size())]);
    if (chance_.OneIn(3)) {
      engine_.limits().Drop(0, pattern, now());
      return;
    }
    engine::LimitOverride limit;
    limit.pattern = pattern;
    limit.since = now();
    limit.limit = static_cast<std::uint32_t>(chance_.Below(4));
    if (chance_.OneIn(2)) limit.end = now() + chance_.Between(1, 100'000);
    const bool has_room = engine_.limits().Set(limit, now());
    assert(has_room);
  }

  MemoryHome& home_;
  const Setting setting_;
  Random& chance_;
  bool is_sync_ = false;
  bool is_open_ = true;
  engine::Effects effects_;
  engine::LockEngine engine_{engine::EngineOptions{.reconnect_grace_ms = 100}};
  values::ValueStore values_{0};
  std::optional<persist::StateLog> log_;
  std::optional<persist::RandomUse> use_;
};

}  // namespace

CrashReport RunCrashes(std::uint64_t seed) {
  CrashReport report;
  Random chance(seed);
  MemoryHome home;
  const Setting setting{.has_overrides = chance.OneIn(2)};
  TimeMs now = 1000;
  for (int life = 0; life < kLivesOfASeed && report.failure.empty(); ++life) {
    Life server(home, setting, chance, now);
    server.Run(static_cast<int>(chance.Between(1, 60)), report);
    if (!report.failure.empty()) return report;
    now = server.now() + chance.Between(0, 1'000);
    if (chance.OneIn(3)) {
      server.StopCleanly(report);
      ++report.clean_stops;
    } else {
      server.Crash();
      ++report.crashes;
    }
  }
  return report;
}

}  // namespace fairlock::simulation
