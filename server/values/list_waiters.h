// Requests that wait for an element of a list: BLPOP and similar commands.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "contracts/loop_confined.h"
#include "server/engine/api/types.h"
#include "server/values/list.h"

namespace fairlock::engine {
class Attachment;
}  // namespace fairlock::engine

namespace fairlock::values {

// Where a popped element goes, instead of into the reply alone.
struct ListTarget {
  std::string key;
  ListEnd end = ListEnd::kLeft;
};

struct ListWait {
  std::uint8_t db = 0;
  std::vector<std::string> keys;
  ListEnd from = ListEnd::kLeft;
  std::optional<ListTarget> target;
  engine::TimeMs deadline = engine::kNever;
};

// The waiting requests by key, in order of arrival, and the keys to which an element was pushed. A
// connection waits for at most one request.
class ListWaiters : contracts::LoopConfined {
 public:
  struct Key {
    std::uint8_t db = 0;
    std::string bytes;

    friend auto operator<=>(const Key&, const Key&) = default;
  };

  bool empty() const { return waits_.empty(); }
  std::size_t size() const { return waits_.size(); }
  // REQUIRES: the connection does not wait here.
  void Add(engine::Attachment& client, ListWait wait);
  // Returns the wait that has ended; none if the connection does not wait here.
  std::optional<ListWait> Remove(engine::Attachment& client);
  const ListWait* Find(const engine::Attachment& client) const;

  // The connection that has waited for that key for the longest time, or null.
  engine::Attachment* FirstFor(const Key& key) const;
  // Called when an element was pushed. Does nothing if nobody waits for the key.
  void NoticePush(const engine::KeyName& key);
  bool has_ready() const { return !ready_.empty(); }
  // The keys to which elements were pushed, in that order, each once.
  std::optional<Key> TakeReady();

  // A connection whose time is over by `now`, or null.
  engine::Attachment* FirstDue(engine::TimeMs now) const;
  engine::TimeMs NextDeadline() const;

 private:
  using Queue = std::list<engine::Attachment*>;
  struct Entry {
    ListWait wait;
    std::vector<Queue::iterator> places;  // its places in the queues of its keys
  };

  boost::unordered_flat_map<const engine::Attachment*, std::unique_ptr<Entry>> waits_;
  std::set<std::pair<engine::TimeMs, engine::Attachment*>> deadlines_;
  std::map<Key, Queue> queues_;
  std::deque<Key> ready_;
  std::set<Key> ready_keys_;  // the same keys as in ready_
};

}  // namespace fairlock::values
