// The requests that one client has queued since MULTI, and the keys that it watches.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/arguments.h"

namespace fairlock::command {

// Limits that apply to each connection.
struct TransactionLimits {
  std::size_t requests_max = 10'000;
  std::size_t bytes_max = 16 * 1024 * 1024;  // approximate memory
  std::size_t watched_keys_max = 1000;
  std::uint64_t reply_bytes_max = 16 * 1024 * 1024;  // of one request, or of one transaction
};

// The state of a key when a client began to watch it.
struct Watch {
  std::uint8_t db;
  std::string key;
  std::uint64_t key_hash;
  std::uint64_t changes;
  std::uint64_t lease_stamp;
};

// The hash slots of the queued requests; used only if they matter.
class QueuedSlots {
 public:
  void Note(std::uint16_t slot) {
    differ_ = differ_ || slot_.value_or(slot) != slot;
    slot_ = slot;
  }
  // Whether they are not all the same.
  bool differ() const { return differ_; }

 private:
  std::optional<std::uint16_t> slot_;
  bool differ_ = false;
};

// Exists from WATCH or MULTI until EXEC, DISCARD or the end of the connection. Copies the requests.
// Loop-confined.
class Transaction {
 public:
  // Starts queueing requests (MULTI).
  void Open() { is_open_ = true; }
  bool is_open() const { return is_open_; }
  // Called when a request was refused: EXEC will execute nothing, so the queued requests are
  // dropped.
  void Spoil();
  bool is_spoiled() const { return is_spoiled_; }

  // `row`: the command's row in the table; `flags`: the command's flags.
  void Add(std::size_t row, std::uint32_t flags, const protocol::Arguments& arguments);
  QueuedSlots& slots() { return slots_; }
  // The flags of all queued commands, combined.
  std::uint32_t flags() const { return flags_; }
  std::size_t size() const { return requests_.size(); }
  std::size_t bytes() const;
  std::size_t BytesWith(const protocol::Arguments& arguments) const;

  // Visits the requests, as views into this object, until `visit` returns false.
  void Visit(const std::function<bool(std::size_t row, const protocol::Arguments&)>& visit) const;

  std::vector<Watch>& watches() { return watches_; }

 private:
  struct Request {
    std::uint32_t row;
    std::uint32_t arguments;
  };

  std::vector<Request> requests_;
  std::vector<std::uint32_t> lengths_;  // the lengths of all arguments
  std::string bytes_;                   // all arguments, concatenated
  std::vector<Watch> watches_;
  std::uint32_t flags_ = 0;
  QueuedSlots slots_;
  bool is_open_ = false;
  bool is_spoiled_ = false;
};

}  // namespace fairlock::command
