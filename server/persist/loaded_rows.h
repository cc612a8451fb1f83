// The rows that were read back from a log, from which the state of a lock engine is restored.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/lock_engine.h"
#include "server/persist/served_time.h"
#include "server/values/value_store.h"
#include "storage/log/load_log.h"
#include "storage/records/rows.h"

namespace fairlock::persist {

struct RestoreOptions {
  engine::TimeMs now = 0;
  std::int64_t unix_ms = 0;
  engine::DurationMs restart_grace_ms = 0;  // for sessions, and for waiters without KEEP
  // A lease that was not renewed since a run began goes on with what that run has left of it; the
  // others start over. Otherwise, all start over whose time left is not stored.
  bool counts_down = false;
};

// Receives the changes of a log one after the other; the rows that are left at the end can then be
// restored into an engine. One thread fills it, and another one may use it afterwards.
//
// The memory of rows that were replaced or deleted is reclaimed when it exceeds that of the rows
// that are left, so the memory needed stays proportional to the rows even if a log is followed for
// weeks.
class LoadedRows final : public storage::ChangeSink {
 public:
  void Apply(const storage::Change& change) override;

  // Call this when all changes have been received. Sorts the rows, and returns an error for the
  // first row that none of our engines could have written.
  storage::Status Finish();

  std::uint64_t token_ceiling() const { return token_ceiling_; }
  // What the last run left for the next one.
  struct LastRun {
    std::string boot_id = {};
    std::uint64_t flags = 0;  // storage::kLastRun...
    // For how long nothing new may be granted, because locks may be missing; 0 if none are.
    engine::DurationMs grant_delay_ms = 0;
  };
  const LastRun& last_run() const { return last_run_; }
  std::uint64_t newest_token() const;
  std::size_t size() const { return rows_.size() + element_count_; }
  bool has_long_leases() const { return has_long_leases_; }
  // The memory allocated for names and values.
  std::size_t block_bytes() const { return blocks_.bytes; }

  // How long all runs have served, according to the last row that says it.
  std::uint64_t served_ms() const { return marks_.served_ms(); }

  // Returns the time left of the longest lease. REQUIRES: the engine has no locks. The caller must
  // call EndRestore afterwards.
  engine::DurationMs RestoreInto(engine::LockEngine& engine, const RestoreOptions& options) const;
  // REQUIRES: the store is empty.
  void RestoreInto(values::ValueStore& values, engine::TimeMs now) const;

 private:
  // The kind and the key of a row in one string, with its hash, so that a growing table need not
  // read the string again.
  struct Name {
    explicit Name(std::string_view name) : bytes(name), hash(std::hash<std::string_view>()(name)) {}
    bool operator==(const Name& other) const { return bytes == other.bytes; }

    std::string_view bytes;
    std::size_t hash;
  };
  struct HashOfName {
    using is_avalanching = void;
    std::size_t operator()(const Name& name) const { return name.hash; }
  };
  // Names and values are views into blocks_. In front of each value stands how many marks came
  // before it.
  using Rows = boost::unordered_flat_map<Name, std::string_view, HashOfName>;
  // The elements of large values, by the number of their value.
  using Elements = boost::unordered_flat_map<std::uint64_t, std::unique_ptr<Rows>>;
  struct Ranked {
    std::uint64_t rank = 0;
    std::string_view key;  // without the kind
    std::string_view value;
    std::size_t sub_rank = 0;  // for holds of an MLOCK: the index of their key in it
  };

  // Copies both, one after the other.
  std::string_view Keep(std::string_view head, std::string_view bytes);
  std::string_view KeepName(char kind, std::string_view key) { return Keep({&kind, 1}, key); }
  std::string_view KeepValue(ServedMarks::Count marks, std::string_view value);
  static ServedMarks::Count MarksBefore(std::string_view value);
  void Compact();
  void MoveToNewBlocks(Rows& rows);
  // Where the row of the change belongs; null: the change deletes an element that is not there.
  Rows* RowsOf(const storage::Change& change);
  // Called before the row of a value is replaced or deleted: the elements of a large value are gone
  // with it, or with its number.
  void DropElementsOf(std::string_view previous, const storage::Change& change);
  storage::Status CheckElements(const rows::Value& value) const;
  void RestoreElements(values::Value& value, std::uint64_t number) const;
  storage::Status Sort(std::string_view name, std::string_view value);
  void TakeMeta(std::string_view key, std::string_view value);

  Rows rows_;
  Elements elements_;
  std::size_t element_count_ = 0;
  std::uint64_t newest_number_ = 0;  // of a large value that there has been
  struct {
    std::vector<std::unique_ptr<char[]>> all;
    std::size_t left = 0;     // unused bytes of the last block
    std::size_t bytes = 0;    // the size of all blocks
    std::size_t live = 0;     // bytes of names and values that a row has
    std::size_t garbage = 0;  // bytes of names and values that no row has any more
  } blocks_;
  std::string scratch_;
  ServedMarks marks_;
  std::vector<Ranked> holds_;   // by token
  std::vector<Ranked> places_;  // by arrival
  std::vector<Ranked> cooling_;
  std::vector<Ranked> limits_;  // by age
  std::vector<Ranked> values_;  // in no order
  std::uint64_t token_ceiling_ = 0;
  LastRun last_run_;
  bool has_long_leases_ = false;
};

// Whether the engine accepts the values of a stored row. They may be out of bounds even if the row
// is well-formed, because it may come from a version with different bounds.
bool IsWithinBounds(const rows::Hold& row);
bool IsWithinBounds(const rows::Place& row);
bool IsWithinBounds(const rows::Cooldown& row);
bool IsWithinBounds(const storage::LimitRow& row);
bool IsWithinBounds(const rows::Value& row);

}  // namespace fairlock::persist
