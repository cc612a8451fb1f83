// The requests to etcd and its answers, as plain structs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "storage/etcd/outcome.h"

namespace fairlock::storage::etcd {

struct KeyValue {
  std::string key = {};
  std::string value = {};
  std::int64_t create_revision = 0;  // 0 if the key does not exist
  std::int64_t mod_revision = 0;     // the revision of the last write
  std::int64_t lease = 0;            // 0 if there is none

  bool operator==(const KeyValue&) const = default;
};

// Is true if the key has exactly this value or revision. A key that does not exist has revision 0.
struct Compare {
  enum class Target : std::uint8_t { kModRevision, kCreateRevision, kValue };

  std::string key = {};
  Target target = Target::kModRevision;
  std::int64_t revision = 0;  // for kModRevision and kCreateRevision
  std::string value = {};     // for kValue
};

struct Put {
  std::string key = {};
  std::string value = {};
  std::int64_t lease = 0;
};

// An empty `range_end` means the key alone; otherwise all keys in [key, range_end).
struct DeleteRange {
  std::string key = {};
  std::string range_end = {};
};

struct Get {
  std::string key = {};
  std::string range_end = {};
  std::int64_t limit = 0;     // 0 means no limit
  std::int64_t revision = 0;  // 0 means the newest; otherwise the state at that revision
  bool keys_only = false;
  bool serializable = false;  // answered by one member alone, so it may be stale
};

// The end of the range that holds every key with this prefix; an empty prefix means all keys.
std::string EndOfPrefix(std::string_view prefix);

using Operation = std::variant<Put, DeleteRange, Get>;

// Executes `then` if every comparison is true, otherwise `otherwise`, atomically at one revision.
struct Txn {
  std::vector<Compare> compares = {};
  std::vector<Operation> then = {};
  std::vector<Operation> otherwise = {};
};

// The fields that every answer has. Those after `message` are 0 unless etcd answered.
struct Answer {
  Outcome outcome = Outcome::kUnavailable;
  std::string message =
      {};  // why the request failed: one sentence for an operator; empty for kDone
  std::uint64_t cluster_id = 0;
  std::uint64_t member_id = 0;
  std::int64_t revision = 0;  // the store's revision when etcd executed the request
};

// kDone and kRefused mean that etcd executed the transaction. `found` has the results of the Gets
// in the executed branch, in their order.
struct TxnAnswer : Answer {
  std::vector<KeyValue> found = {};
};

struct RangeAnswer : Answer {
  std::vector<KeyValue> found = {};
  bool more = false;       // there are more keys than the limit allowed
  std::int64_t count = 0;  // the number of all keys in the range, regardless of the limit
};

struct LeaseAnswer : Answer {
  std::int64_t id = 0;
  std::int64_t ttl_s = 0;  // the time until the lease expires, unless it is renewed
};

struct StatusAnswer : Answer {
  std::string version = {};
  std::int64_t size_bytes = 0;         // the size of the database file
  std::int64_t size_in_use_bytes = 0;  // without the space that compaction and deletion freed in it
  std::uint64_t leader = 0;            // a member's id; 0 if this member knows no leader
  std::uint64_t raft_term = 0;
  bool is_learner = false;
};

// A change that a watch reports. If the key was deleted, `kv` has only the key and the revision of
// the deletion.
struct WatchEvent {
  enum class Kind : std::uint8_t { kPut, kDelete };

  Kind kind = Kind::kPut;
  KeyValue kv;

  bool operator==(const WatchEvent&) const = default;
};

struct Member {
  std::uint64_t id = 0;
  std::string name = {};
  std::vector<std::string> client_urls = {};
  bool is_learner = false;
};

struct MembersAnswer : Answer {
  std::vector<Member> members = {};
};

struct Alarm {
  enum class Kind : std::uint8_t { kNoSpace, kCorrupt, kOther };

  std::uint64_t member_id = 0;
  Kind kind = Kind::kOther;
};

struct AlarmsAnswer : Answer {
  std::vector<Alarm> alarms = {};
};

}  // namespace fairlock::storage::etcd
