#include "server/values/list_waiters.h"

namespace fairlock::values {

void ListWaiters::Add(engine::Attachment& client, ListWait wait) {
  AssertInLoop();
  auto entry = std::make_unique<Entry>();
  for (std::string& key : wait.keys) {
    Queue& queue = queues_[{wait.db, key}];
    // A connection waits once, so if it is in the queue, it is the last one: the key is repeated.
    if (!queue.empty() && queue.back() == &client) continue;
    entry->places.push_back(queue.insert(queue.end(), &client));
    entry->wait.keys.push_back(std::move(key));
  }
  if (wait.deadline < engine::kNever) deadlines_.emplace(wait.deadline, &client);
  wait.keys = std::move(entry->wait.keys);
  entry->wait = std::move(wait);
  waits_.emplace(&client, std::move(entry));
}

std::optional<ListWait> ListWaiters::Remove(engine::Attachment& client) {
  AssertInLoop();
  const auto found = waits_.find(&client);
  if (found == waits_.end()) return std::nullopt;
  Entry entry = std::move(*found->second);
  waits_.erase(found);
  deadlines_.erase({entry.wait.deadline, &client});
  for (std::size_t i = 0; i < entry.places.size(); ++i) {
    const auto queue = queues_.find({entry.wait.db, entry.wait.keys[i]});
    queue->second.erase(entry.places[i]);
    if (queue->second.empty()) queues_.erase(queue);
  }
  return std::move(entry.wait);
}

const ListWait* ListWaiters::Find(const engine::Attachment& client) const {
  const auto found = waits_.find(&client);
  return found == waits_.end() ? nullptr : &found->second->wait;
}

engine::Attachment* ListWaiters::FirstFor(const Key& key) const {
  const auto queue = queues_.find(key);
  return queue == queues_.end() ? nullptr : queue->second.front();
}

void ListWaiters::NoticePush(const engine::KeyName& name) {
  AssertInLoop();
  if (queues_.empty()) return;
  Key key{name.db, std::string(name.bytes)};
  if (!queues_.contains(key) || !ready_keys_.insert(key).second) return;
  ready_.push_back(std::move(key));
}

std::optional<ListWaiters::Key> ListWaiters::TakeReady() {
  if (ready_.empty()) return std::nullopt;
  Key key = std::move(ready_.front());
  ready_.pop_front();
  ready_keys_.erase(key);
  return key;
}

engine::Attachment* ListWaiters::FirstDue(engine::TimeMs now) const {
  const bool is_any_due = !deadlines_.empty() && deadlines_.begin()->first < now;
  return is_any_due ? deadlines_.begin()->second : nullptr;
}

engine::TimeMs ListWaiters::NextDeadline() const {
  return deadlines_.empty() ? engine::kNever : deadlines_.begin()->first + 1;
}

}  // namespace fairlock::values
