// Where records are kept: a log that can be read back, appended to, and shortened by snapshots.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "storage/records/record.h"
#include "storage/status.h"

namespace fairlock::storage {

// A sealed record and its name. `generation` is that of the snapshot; 0 for a batch.
struct StoredRecord {
  RecordKind kind = RecordKind::kBatch;
  std::uint64_t generation = 0;
  std::uint64_t number = 0;
  std::string_view bytes;
};

// What must have failed before an appended record may be lost.
enum class Durability : std::uint8_t {
  kProcess,  // more than this process: what was appended outlives it
  kMachine,  // more than this machine: what was appended is on a medium that outlives its power
};

class RecordSink {
 public:
  // The bytes are valid for the call only. Anything but ok ends the loading with it.
  virtual Status Take(const StoredRecord& record) = 0;

 protected:
  ~RecordSink() = default;
};

// Knows bytes and names of records, not what is in them. Not necessarily a disk of this machine: a
// replicated log fits behind it too, for which every append is durable and Sync has nothing to do.
//
// Load, and from then on Append, are called by one thread at a time; Sync by another one too, while
// an append may be under way. All of them block. After the first status that is not ok nothing but
// the destructor may be called: what was stored is only known again by a new store that loads it.
// kDeposed means that another process has taken over and nothing was appended.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  // Everything there is: headings, slices by generation and number, batches by number.
  virtual Status Load(RecordSink& sink) = 0;

  // Appends all of the records or none, and a crash keeps or loses appends in their order.
  virtual Status Append(std::span<const StoredRecord> records, Durability durability) = 0;

  // Appends the heading of a whole snapshot, and in the same step removes what it makes needless:
  // headings and slices of earlier generations, and batches before `first_batch`.
  virtual Status Replace(const StoredRecord& heading, std::uint64_t first_batch) = 0;

  // Makes everything durable whose append has returned.
  virtual Status Sync() = 0;
};

}  // namespace fairlock::storage
