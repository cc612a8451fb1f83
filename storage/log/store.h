// The interface of a store for records: a log that can be loaded, appended to, and shortened by
// snapshots.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "storage/records/record.h"
#include "storage/status.h"

namespace fairlock::storage {

// A sealed record and its name. `generation` is the snapshot's, or 0 for a batch.
struct StoredRecord {
  RecordKind kind = RecordKind::kBatch;
  std::uint64_t generation = 0;
  std::uint64_t number = 0;
  std::string_view bytes;
};

// Which failures an appended record must survive.
enum class Durability : std::uint8_t {
  kProcess,  // the end of this process
  kMachine,  // the failure of this machine: the record is on storage that survives a loss of power
};

class RecordSink {
 public:
  // The bytes are valid only during the call. Any status other than ok ends the loading with that
  // status.
  virtual Status Take(const StoredRecord& record) = 0;

 protected:
  ~RecordSink() = default;
};

// A store handles the bytes and names of records, not their content. It need not be a local disk: a
// replicated log can implement this interface too, with appends that are always durable and a Sync
// that does nothing.
//
// One thread at a time calls Load and then Append; another thread may call Sync during an append.
// All of them block. After the first status other than ok, only the destructor may be called: to
// find out what was stored, a new store must load the data. kDeposed means that another process has
// taken over and nothing was appended.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  // Loads everything in this order: headings, slices by generation and number, batches by number.
  virtual Status Load(RecordSink& sink) = 0;

  // Appends all of the records or none. A crash can lose only the last appends, never one before an
  // append that survives.
  virtual Status Append(std::span<const StoredRecord> records, Durability durability) = 0;

  // Appends the heading of a complete snapshot and atomically removes the records that it replaces:
  // headings and slices of earlier generations, and batches before `first_batch`.
  virtual Status Replace(const StoredRecord& heading, std::uint64_t first_batch) = 0;

  // Makes every append that has returned durable.
  virtual Status Sync() = 0;
};

}  // namespace fairlock::storage
