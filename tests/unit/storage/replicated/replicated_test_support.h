// A leader of a partition, and what it writes, for tests of the replicated log.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "storage/etcd/etcd_client.h"
#include "storage/log/journal.h"
#include "storage/log/load_log.h"
#include "storage/records/rows.h"
#include "storage/replicated/leadership.h"
#include "storage/replicated/replicated_store.h"

namespace fairlock::storage::replicated {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

inline TimeMs NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Whether the condition is met within a few seconds.
template <typename Condition>
bool Becomes(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

inline constexpr LogId kLogId = {'t', 'e', 's', 't'};

// One process that takes over the partition and then leads it.
class Leader {
 public:
  Leader(const etcd::EtcdOptions& options, const std::string& node,
         const ReplicatedStoreOptions& store = {.compact_every = 0})
      : client_(std::move(etcd::EtcdClient::Open(options).value())),
        writer_(PartitionKeys("/fairlock/t/p/00/"), NewRunId(), node),
        store_(*client_, writer_, store) {
    TakeOver();
  }

  ReplicatedStore& store() { return store_; }
  FrameWriter& writer() { return writer_; }
  const SeenBeat& committed() const { return writer_.committed(); }
  etcd::EtcdClient& client() { return *client_; }

  // Loads the existing log, or starts a new one.
  LogEnd Load(RowTable& rows) {
    if (writer_.committed().beat.epoch == 1) {
      EXPECT_TRUE(BeginLog(store_, kLogId).ok());
    }
    auto end = LoadLog(store_, rows);
    EXPECT_TRUE(end.ok()) << end.status().message();
    return end.ok() ? end.value() : LogEnd{};
  }

 private:
  SeenBeat Look() {
    const auto answer = client_->Range({.key = writer_.keys().beat, .range_end = {}}, 5s);
    EXPECT_EQ(answer.outcome, etcd::Outcome::kDone) << answer.message;
    if (answer.found.empty()) return {};
    const etcd::KeyValue& found = answer.found.front();
    return {.revision = found.mod_revision,
            .value = found.value,
            .beat = DecodeBeat(found.value).value()};
  }

  void TakeOver() {
    writer_.TakeOver(Look());
    for (int i = 0; i < 100 && writer_.is_in_progress(); ++i) {
      writer_.Take(client_->Transact(writer_.txn(), 2s));
    }
    ASSERT_TRUE(writer_.committed().exists());
  }

  std::unique_ptr<etcd::EtcdClient> client_;
  FrameWriter writer_;
  ReplicatedStore store_;
};

// Writes numbered holds through a journal; some of them are later replaced, and some removed.
class Writing {
 public:
  Writing(Store& store, const LogEnd& end)
      : journal_(store, end, {.durability = Durability::kMachine}, [] {}) {}

  void Write(int batches, std::size_t owner_bytes = 20) {
    for (int i = 0; i < batches; ++i) {
      const std::uint64_t number = journal_.open_batch();
      RecordWriter batch;
      const std::string key = "key" + std::to_string(number % 40);
      const std::string owner(owner_bytes, 'o');
      rows::Hold row{.id = {.token = number % 40 + 1, .key = key}};
      row.claim.owner = owner;
      row.claim.lease_ms = static_cast<rows::DurationMs>(number);
      PutRow(batch, row);
      const std::string gone = "key" + std::to_string((number + 20) % 40);
      DeleteHold(batch, {.token = (number + 20) % 40 + 1, .key = gone});
      journal_.Append(batch);
    }
  }

  // Takes a snapshot of these rows, with batches between its slices, and finishes it or not.
  void SnapshotAmongBatches(const RowTable& rows, bool finishes) {
    journal_.BeginSnapshot();
    std::size_t slices = 0;
    for (const auto& [name, value] : rows.rows()) {
      RecordWriter slice;
      slice.Put(name.first, name.second, value);
      journal_.AppendSlice(slice);
      if (++slices % 4 == 0) Write(1);
    }
    if (finishes) journal_.FinishSnapshot();
  }

  // Takes a snapshot of these rows.
  void Snapshot(const RowTable& rows) {
    journal_.BeginSnapshot();
    for (const auto& [name, value] : rows.rows()) {
      RecordWriter slice;
      slice.Put(name.first, name.second, value);
      journal_.AppendSlice(slice);
    }
    journal_.FinishSnapshot();
  }

  Journal& journal() { return journal_; }

 private:
  Journal journal_;
};

}  // namespace fairlock::storage::replicated
