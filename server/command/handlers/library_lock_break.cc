#include "server/command/handlers/library_lock_break.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/command/delivery/list_delivery.h"
#include "server/command/environment/clock.h"
#include "server/command/handlers/library_lock_info.h"
#include "server/command/handlers/redis_arguments.h"
#include "server/command/server_parts.h"
#include "server/command/table/text.h"
#include "server/values/library_locks.h"
#include "server/values/set.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;

// One BREAK of a library's lock.
class LibraryBreaking {
 public:
  LibraryBreaking(Invocation& call, const engine::KeyName& key, values::Value& value,
                  values::LibraryLock lock)
      : call_(call), server_(call.server), key_(key), value_(value), lock_(std::move(lock)) {}

  // Returns false after sending an error. The lock has not changed then.
  bool Run(std::optional<std::string_view> owner) {
    DropOverdueWaiters();
    plan_ = values::PlanBreak(value_, lock_, owner, FirstWaiter());
    if (RefusesKeys()) return false;
    plan_.is_whole ? server_.values.Delete(value_) : EraseElements();
    for (const std::string& each : plan_.keys) DeleteKey(Beside(each));
    for (const auto& [set, member] : plan_.memberships) RemoveMember(Beside(set), member);
    ReturnPermits();
    Report();
    WakeWaiters();
    return true;
  }
  std::size_t ended() const { return plan_.ended.size(); }

 private:
  engine::KeyName Beside(std::string_view key) const { return {.db = key_.db, .bytes = key}; }
  bool MayWrite(std::string_view key) const {
    return !call_.client.rights.is_limited() ||
           call_.client.rights.user()->MayUse(key, access::KeyUse::kWrite);
  }

  // The library does so too before it tells the first waiter, because the ones before that one may
  // be gone.
  void DropOverdueWaiters() {
    for (const values::LibraryQueue& queue : lock_.queues) {
      if (queue.ends_key.empty() || !MayWrite(queue.key) || !MayWrite(queue.ends_key)) continue;
      while (DropOverdueWaiter(queue)) {
      }
    }
  }

  bool DropOverdueWaiter(const values::LibraryQueue& queue) {
    values::Value* list = server_.values.Find(Beside(queue.key), call_.now);
    const auto* waiters = list == nullptr ? nullptr : std::get_if<values::List>(&list->content);
    const auto* ends = FindContent<values::SortedSet>(server_, Beside(queue.ends_key), call_.now);
    if (waiters == nullptr || ends == nullptr) return false;
    const std::string first = waiters->at(0);
    const auto end = ends->ScoreOf(first);
    if (!end || *end > static_cast<double>(UnixMs())) return false;
    PopElement(server_.values, *list, values::ListEnd::kLeft);
    RemoveMember(Beside(queue.ends_key), first);
    return true;
  }

  std::string FirstWaiter() {
    if (lock_.queues.empty()) return {};
    const auto* queue =
        FindContent<values::List>(server_, Beside(lock_.queues.front().key), call_.now);
    return queue == nullptr ? std::string() : queue->at(0);
  }

  // Whether the client may not write one of the other keys that would change; if so, sends the
  // error.
  bool RefusesKeys() {
    std::vector<std::string> keys = plan_.keys;
    for (const auto& membership : plan_.memberships) keys.push_back(membership.key);
    if (plan_.push) keys.push_back(plan_.push->key);
    if (plan_.permits > 0) keys.push_back(PermitsKey());
    const auto denied =
        std::ranges::find_if(keys, [&](const std::string& key) { return !MayWrite(key); });
    if (denied == keys.end()) return false;
    call_.reply.Error(ErrorCode::kNoPerm,
                      "BREAK also changes " + Quoted(*denied) + ", which this user may not write");
    return true;
  }

  void DeleteKey(const engine::KeyName& key) {
    if (values::Value* value = server_.values.Find(key, call_.now)) {
      server_.values.Delete(*value);
    } else {
      LocksOf(call_).Release(key, call_.client, server_.locks.StepAt(call_.now));
    }
  }

  void RemoveMember(const engine::KeyName& key, std::string_view member) {
    values::Value* value = server_.values.Find(key, call_.now);
    auto* set = value == nullptr ? nullptr : std::get_if<values::SortedSet>(&value->content);
    if (set == nullptr || !set->Erase(member)) return;
    server_.values.NoticeChange(*value, "zrem", kSortedSetEvents);
  }

  void EraseElements() {
    SetEnd();
    // Copies the elements, which are views of the value.
    std::vector<std::string> elements;
    for (const values::LibraryHolder& holder : plan_.ended) elements.emplace_back(holder.element);
    auto* hash = std::get_if<values::Hash>(&value_.content);
    for (const std::string& element : elements) {
      if (hash != nullptr) {
        hash->Erase(element);
      } else {
        std::get<values::SortedSet>(value_.content).Erase(element);
      }
    }
    if (plan_.leaves_readers) hash->Set("mode", "read");
    server_.values.NoticeChange(value_, hash != nullptr ? "hdel" : "zrem",
                                hash != nullptr ? kHashEvents : kSortedSetEvents);
  }

  // The value ends with the last of the remaining holds.
  void SetEnd() {
    engine::DurationMs left_ms = plan_.end_unix_ms ? *plan_.end_unix_ms - UnixMs() : 0;
    for (const std::string& key : plan_.end_keys) {
      const engine::KeyLook look =
          LocksOf(call_).Look(Beside(key), server_.locks.StepAt(call_.now));
      left_ms = std::max(left_ms, look.ttl_ms.value_or(0));
    }
    if (left_ms <= 0) return;
    server_.values.store().SetTtl(value_, left_ms, call_.now);
    server_.values.PublishGeneric(value_, "expire");
  }

  const std::string& PermitsKey() {
    const auto key = std::ranges::find_if(lock_.permits_keys, [&](const std::string& each) {
      return LocksOf(call_).Look(Beside(each), server_.locks.StepAt(call_.now)).is_held;
    });
    return key == lock_.permits_keys.end() ? lock_.permits_keys.front() : *key;
  }

  // As INCRBY on the number of free permits.
  void ReturnPermits() {
    if (plan_.permits == 0) return;
    const engine::KeyName key = Beside(PermitsKey());
    const engine::Step step = server_.locks.StepAt(call_.now);
    const engine::KeyLook look = LocksOf(call_).Look(key, step);
    const auto free = look.is_held ? values::ParsePlainNumber(look.owner) : 0;
    std::int64_t next = 0;
    if (!free || __builtin_add_overflow(*free, plan_.permits, &next)) return;
    plan_.message = std::to_string(next);
    LocksOf(call_).Write(
        {.key = key, .value = plan_.message, .end = engine::WrittenEnd::kKept, .is_rename = true},
        call_.client, step);
  }

  // Records each hold that has ended like one of the engine's.
  void Report() {
    const std::uint64_t hash = server_.locks.engine().Prefetch(key_);
    for (const values::LibraryHolder& holder : plan_.ended) {
      const engine::Event event = {
          .kind = engine::EventKind::kBroken,
          .key = key_,
          .key_hash = hash,
          .owner = std::string_view(holder.owner).substr(0, engine::kOwnerBytesMax),
          .at = call_.now,
          .held_ms =
              std::max<engine::DurationMs>(UnixMs() - holder.since_unix_ms.value_or(UnixMs()), 0)};
      if (holder.since_unix_ms) {
        server_.recorder.Take(event);
      } else {
        server_.recorder.TakeWithoutAge(event);
      }
      server_.event_publisher.PublishLockEvent(event);
      ++server_.statistics.broken_in_values;
    }
  }

  void WakeWaiters() {
    if (plan_.push) Push(*plan_.push);
    if (plan_.channel.empty() || plan_.channel.size() > Channels::kNameBytesMax) return;
    if (plan_.message.empty()) return;
    if (server_.delivery.is_in_step()) {
      server_.messages.Publish(plan_.channel, plan_.message);
    } else {
      server_.channels.Publish(plan_.channel, plan_.message);
    }
  }

  void Push(const values::LibraryBreak::Push& push) {
    const engine::KeyName key = Beside(push.key);
    const values::Value* before = server_.values.Find(key, call_.now);
    const bool takes_it = before != nullptr
                              ? before->type() == values::ValueType::kList &&
                                    before->size() < server_.values.limits().elements_max
                              : !server_.values.IsLock(key, call_.now);
    if (!takes_it) return;
    PushElement(server_.values, key, values::ListEnd::kLeft, push.element, call_.now);
    server_.values.store().SetTtl(*server_.values.Find(key, call_.now), push.ttl_ms, call_.now);
  }

  engine::TimeMs UnixMs() const { return server_.unix_time.MsOf(call_.now, call_.now); }

  Invocation& call_;
  ServerParts& server_;
  const engine::KeyName key_;
  values::Value& value_;
  const values::LibraryLock lock_;
  values::LibraryBreak plan_;
};

}  // namespace

bool BreaksLibraryLock(Invocation& call, const engine::KeyName& key,
                       std::optional<std::string_view> owner) {
  values::Value* value = call.server.values.Find(key, call.now);
  if (value == nullptr) return false;
  auto lock = values::RecogniseLock(*value, call.server.unix_time.MsOf(call.now, call.now));
  if (!lock || (owner && std::ranges::find(lock->holders, *owner, &values::LibraryHolder::owner) ==
                             lock->holders.end())) {
    call.reply.Integer(0);
    return true;
  }
  LibraryBreaking breaking(call, key, *value, *std::move(lock));
  if (breaking.Run(owner)) call.reply.Integer(static_cast<std::int64_t>(breaking.ended()));
  return true;
}

void SignalPythonWaiter(Invocation& call, const engine::KeyName& key) {
  constexpr std::string_view kLock = "lock:";
  if (!key.bytes.starts_with(kLock)) return;
  std::string signal = "lock-signal:";
  signal.append(key.bytes.substr(kLock.size()));
  if (signal.size() > engine::kKeyBytesMax) return;
  if (call.server.values.waiters().FirstFor({.db = key.db, .bytes = signal}) == nullptr) return;
  PushElement(call.server.values, {.db = key.db, .bytes = signal}, values::ListEnd::kLeft, "1",
              call.now);
}

}  // namespace fairlock::command
