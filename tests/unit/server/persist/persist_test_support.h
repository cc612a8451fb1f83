// Uses an engine at random, and shows which rows would be on disk.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/engine/lock_engine.h"
#include "server/persist/batch_writer.h"
#include "server/persist/loaded_rows.h"
#include "server/persist/snapshot_task.h"
#include "storage/log/load_log.h"

namespace fairlock::persist {

// Passes the changes of a record to the sink.
inline void Replay(storage::RecordWriter& record, storage::ChangeSink& sink) {
  const std::string sealed(record.Seal(storage::RecordKind::kBatch, 1, 0));
  auto reader = storage::RecordReader::Open(sealed, storage::RecordKind::kBatch, 1, 0);
  storage::Change change;
  while (reader->Next(change)) sink.Apply(change);
  record.Clear();
}

// Rows by kind and key, with their content as text. For a cooldown, the text only says that it is
// there, because its length depends on the time.
using RowTexts = std::map<std::pair<int, std::string>, std::string>;

inline RowTexts TextsOf(const storage::RowTable& table) {
  RowTexts texts;
  for (const auto& [name, value] : table.rows()) {
    const bool is_cooling = name.first == storage::RowKind::kCooldown;
    texts[{static_cast<int>(name.first), name.second}] = is_cooling ? "" : value;
  }
  return texts;
}

// Returns the rows that a scan of the whole engine finds.
inline RowTexts RowsIn(engine::LockEngine& engine, engine::TimeMs now) {
  storage::RecordWriter record;
  RowWriter rows(record);
  for (std::uint64_t cursor = 0;;) {
    cursor = engine.snapshots().ScanRows(cursor, 100, {}, now, rows);
    if (cursor == 0) break;
  }
  storage::RowTable table;
  Replay(record, table);
  return TextsOf(table);
}

// Clients that make all kinds of requests for a few keys. The same seed gives the same requests.
class RandomUse {
 public:
  RandomUse(engine::LockEngine& engine, std::uint64_t seed, engine::TimeMs now = 1000)
      : engine_(engine), chance_(seed), now_(now) {
    for (auto& connection : connections_) Connect(connection);
  }
  ~RandomUse() {
    for (auto& connection : connections_) engine_.sessions().Detach(*connection, {now_, effects_});
  }

  engine::TimeMs now() const { return now_; }
  void PassTime(engine::DurationMs duration_ms) { now_ += duration_ms; }

  void Step() {
    effects_.resolutions.clear();
    switch (Pick(16)) {
      case 0:
        now_ += Pick(400);
        if (Pick(4) == 0) now_ += Pick(70'000);  // so that a tenth of a long lease passes
        engine_.Advance(5, {now_, effects_});
        break;
      case 1:
        Reconnect();
        break;
      case 2:
        engine_.Unlock({Key(), Owner(), std::nullopt}, {now_, effects_});
        break;
      case 3:
        engine_.Renew({Key(), Owner(), Lease(), std::nullopt, Pick(2) == 0}, {now_, effects_});
        break;
      case 4:
        engine_.Cancel(Key(), Owner(), {now_, effects_});
        break;
      case 5:
        engine_.Transfer({Key(), Owner(), Owner(), Lease(), std::nullopt}, {now_, effects_});
        break;
      case 6:
        if (Pick(4) == 0) engine_.Break(Key(), std::nullopt, {now_, effects_});
        if (Pick(2) == 0)
          engine_.Break(Key(), std::nullopt, {now_, effects_}, Pick(2) == 0 ? 5000 : 50);
        break;
      case 7:
        AskForSeveral();
        break;
      case 8:
      case 9:
      case 10:
        Write();
        break;
      case 11:
        ChangeByKey();
        break;
      default:
        Ask();
    }
  }

 private:
  std::uint64_t Pick(std::uint64_t count) { return chance_() % count; }

  void Connect(std::unique_ptr<engine::Attachment>& connection) {
    connection = std::make_unique<engine::Attachment>(engine_.clients().Connect("test", "default"));
  }
  void Reconnect() {
    auto& connection = connections_[Pick(connections_.size())];
    engine_.sessions().Detach(*connection, {now_, effects_});
    Connect(connection);
  }

  // Returns a connection that does not wait.
  engine::Attachment* FreeConnection() {
    auto& connection = connections_[Pick(connections_.size())];
    return connection->pending.empty() ? connection.get() : nullptr;
  }

  engine::KeyName Key() { return {0, kKeys[Pick(kKeys.size())]}; }
  std::string_view Owner() { return kOwners[Pick(kOwners.size())]; }
  std::optional<engine::DurationMs> Lease() {
    if (Pick(3) == 0) return std::nullopt;
    if (Pick(3) == 0) return 600'000 + static_cast<engine::DurationMs>(Pick(3) * 300'000);
    return 1 + static_cast<engine::DurationMs>(Pick(1000));
  }

  engine::LockRequest Request() {
    engine::LockRequest request;
    request.owner = Owner();
    request.lease_ms = Lease();
    if (Pick(2) == 0) request.wait_ms = 1 + static_cast<engine::DurationMs>(Pick(500));
    if (Pick(2) == 0) request.keep_ms = 1 + static_cast<engine::DurationMs>(Pick(500));
    if (Pick(5) == 0) request.terms.min_hold_ms = 1 + static_cast<engine::DurationMs>(Pick(300));
    if (Pick(5) == 0)
      request.terms.session_grace_ms = static_cast<engine::DurationMs>(Pick(2) * 200);
    if (Pick(5) == 0) request.meta = kOwners[Pick(3)];
    if (Pick(5) == 0) request.label = kOwners[Pick(3)];
    request.only_new = Pick(10) == 0;
    const std::uint64_t mode = Pick(4);
    request.is_shared = mode == 0;
    if (mode == 1) request.limit = 1 + static_cast<std::uint32_t>(Pick(3));
    return request;
  }

  void Ask() {
    engine::Attachment* from = FreeConnection();
    if (from == nullptr) return;
    engine::LockRequest request = Request();
    request.key = Key();
    const engine::LockResult result = engine_.Lock(request, *from, {now_, effects_});
    if (result.status == engine::LockStatus::kGranted && Pick(8) == 0) {
      engine_.sessions().UndoGrant(result.key_hash, result.token, {now_, effects_});
    }
  }

  void AskForSeveral() {
    engine::Attachment* from = FreeConnection();
    if (from == nullptr) return;
    const std::size_t first = Pick(kKeys.size() - 1);
    const std::vector<engine::KeyName> keys = {{0, kKeys[first]}, {0, kKeys[first + 1]}};
    engine::MlockRequest request{.keys = keys, .each = Request()};
    const engine::LockResult result = engine_.Mlock(request, *from, {now_, effects_});
    if (result.status == engine::LockStatus::kGranted && Pick(8) == 0) {
      engine_.sessions().UndoGrant(result.key_hash, result.token, {now_, effects_});
    }
  }

  // Requests SET, with and without NX, or INCR.
  void Write() {
    engine::WriteRequest request{.key = Key(), .value = Owner()};
    request.end = static_cast<engine::WrittenEnd>(Pick(3));
    request.lease_ms = static_cast<engine::DurationMs>(Pick(1000));
    request.only_new = Pick(2) == 0;
    request.is_rename = Pick(3) == 0;
    const auto result = engine_.redis().Write(request, *connections_[0], {now_, effects_});
    if (result.status == engine::WriteStatus::kGranted && Pick(8) == 0) {
      engine_.sessions().UndoGrant(result.key_hash, result.token, {now_, effects_});
    }
  }

  // Requests DEL, EXPIRE or PERSIST.
  void ChangeByKey() {
    engine::RedisView& locks = engine_.redis();
    if (Pick(2) == 0) {
      locks.Release(Key(), *connections_[0], {now_, effects_});
    } else {
      locks.Expire({.key = Key(), .lease_ms = Lease()}, *connections_[0], {now_, effects_});
    }
  }

  static constexpr std::array<std::string_view, 4> kKeys = {"k1", "k2", "k3", "k4"};
  static constexpr std::array<std::string_view, 5> kOwners = {"a", "b", "c", "d", "e"};

  engine::LockEngine& engine_;
  std::mt19937_64 chance_;
  engine::TimeMs now_;
  engine::Effects effects_;
  std::array<std::unique_ptr<engine::Attachment>, 6> connections_;
};

}  // namespace fairlock::persist
