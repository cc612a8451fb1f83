// All values, by database and key.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rows/value_rows.h"
#include "server/engine/api/types.h"
#include "server/engine/containers/linear_hash.h"
#include "server/engine/containers/timer_wheel.h"
#include "server/values/value.h"

namespace fairlock::values {

// Learns of changes as they happen, in the middle of the store's work, so it must not call the
// store.
class ValueListener {
 public:
  virtual void OnChange(const engine::KeyName& key) = 0;
  virtual void OnExpiry(const engine::KeyName& key) = 0;

 protected:
  ~ValueListener() = default;
};

// What a snapshot stores of each value.
struct ValueDetail {
  bool with_time_left = false;  // otherwise the time to live starts over after a restart
};

// Receives the rows that must be stored.
class ValueLogSink {
 public:
  virtual void PutValue(const rows::Value& row) = 0;
  // The rows of the elements of a large value are deleted with it.
  virtual void DeleteValue(const rows::ValueId& id) = 0;
  virtual void PutElement(const rows::Element& row) = 0;
  // Only those fields of the row that identify it are set.
  virtual void DeleteElement(const rows::Element& row) = 0;

 protected:
  ~ValueLogSink() = default;
};

// Uses no I/O, clock, threads or randomness; time must not go back. Loop-confined. Find, Create and
// Remove are O(1) on average: the elements of a large value are freed by later calls of Advance.
//
// What is stored: a small value as one row, anew with each change. Once a value exceeds
// kSmallElementsMax or kSmallBytesMax, it gets a number, and each element is a row of its own:
// then a change writes the elements that it has changed. The value becomes large in one batch with
// all its elements.
//
// Invariants, which CheckInvariants checks:
// 1. Every value has an element.
// 2. A value has a deadline exactly if it has a length on record.
// 3. The counts by database are right.
class ValueStore {
 public:
  // `hash_seed` must be that of the lock engine, because keys come with its hashes.
  explicit ValueStore(std::uint64_t hash_seed);
  ValueStore(const ValueStore&) = delete;
  ValueStore& operator=(const ValueStore&) = delete;
  ~ValueStore();

  bool empty() const { return table_.size() == 0; }
  std::size_t size() const { return table_.size(); }
  std::uint64_t Count(std::uint8_t db) const { return counts_[db]; }
  // How many changes and deletions there have been.
  std::uint64_t changes() const { return changes_; }
  void set_listener(ValueListener* listener) { listener_ = listener; }

  // The value with that key, or null, even if it is overdue.
  const Value* Look(const engine::KeyName& key) const;
  // The value with that key, or null. An overdue one expires first.
  Value* Find(const engine::KeyName& key, engine::TimeMs now);
  // Creates a value that never expires. REQUIRES: there is none under that key; the caller gives it
  // an element and calls NoticeChange.
  Value& Create(const engine::KeyName& key, Content content);
  void Remove(Value& value);
  // Removes about `count` values from `cursor` on, of one database or of all. The cursor works as
  // in Scan.
  std::uint64_t Clear(std::uint64_t cursor, std::size_t count, std::optional<std::uint8_t> db);
  void NoticeChange(Value& value);
  // The value expires `ttl_ms` from now; none means never. REQUIRES: ttl_ms > 0.
  void SetTtl(Value& value, std::optional<engine::DurationMs> ttl_ms, engine::TimeMs now);

  // Ends what expired before `now`, at most about `steps_max` values, and frees elements of removed
  // values. Returns true if more is due.
  bool Advance(engine::TimeMs now, std::size_t steps_max);
  engine::TimeMs NextDeadline() const;
  // Freezes the state for good: nothing expires any more.
  void Freeze() { is_frozen_ = true; }

  // Visits about `count` values from `cursor` on (0 at the beginning), and returns the next cursor,
  // 0 at the end. A value that exists during the whole walk is visited at least once. Does not end
  // what is due. `visit` returns false to end the page early.
  std::uint64_t Scan(std::uint64_t cursor, std::size_t count,
                     const std::function<bool(const Value&)>& visit) const;

  // For the code that stores the values. While the log is on, changes and deletions are recorded.
  void set_logging(bool is_on) { is_logging_ = is_on; }
  bool has_logged() const { return !changed_.empty() || !removed_.empty(); }
  // Passes on the stored rows that have been removed and then what has changed, and forgets both.
  void TakeLog(ValueLogSink& sink);
  // The row of a value; of a large one, without its elements.
  rows::Value RowOf(const Value& value, const ValueDetail& detail, engine::TimeMs now) const;
  // Visits about `count` elements of a large value, and returns the next cursor, as Scan does for
  // values: what is there during the whole walk is visited at least once.
  static std::uint64_t VisitElements(const Value& value, std::uint64_t cursor, std::size_t count,
                                     const VisitElement& visit);
  // Restores a stored value. The elements of a large one must follow, those of a list in the order
  // of their places; then EndRestore must be called. REQUIRES: there is none under that key.
  Value& Restore(const rows::Value& row, engine::TimeMs now);
  static void Restore(Value& value, const rows::Element& element);
  static void EndRestore(Value& value);
  // New values get numbers above this one.
  void SkipNumbersTo(std::uint64_t number) { newest_number_ = std::max(newest_number_, number); }

  void CheckInvariants() const;

 private:
  struct HashOfValue {
    std::uint64_t operator()(const Value& value) const { return value.hash(); }
  };
  struct RemovedRow {
    std::uint8_t db;
    std::string key;
  };
  using ChangedList = boost::intrusive::list<Value, boost::intrusive::base_hook<ChangedHook>,
                                             boost::intrusive::constant_time_size<false>>;

  std::uint64_t HashOf(const engine::KeyName& key) const;
  void LogValue(Value& value, ValueLogSink& sink);
  static bool IsSmall(const Value& value);
  void Tell(const engine::KeyName& key);
  void Log(Value& value);
  void Expire(Value& value);
  void FreeRemoved(std::size_t elements_max);

  const std::uint64_t seed_;
  engine::LinearHash<Value, HashOfValue> table_;
  engine::TimerWheel wheel_;
  std::array<std::uint64_t, engine::kDatabases> counts_{};
  ChangedList changed_;
  std::vector<RemovedRow> removed_;
  std::deque<Content> unfreed_;  // the contents of removed values with many elements
  ValueListener* listener_ = nullptr;
  std::uint64_t changes_ = 0;
  std::uint64_t newest_number_ = 0;
  bool is_logging_ = false;
  bool is_frozen_ = false;
};

}  // namespace fairlock::values
