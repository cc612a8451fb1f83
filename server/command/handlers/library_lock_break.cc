#include "server/command/handlers/library_lock_break.h"

#include <algorithm>
#include <string>
#include <variant>

#include "server/command/environment/unix_time.h"
#include "server/command/handlers/redis_arguments.h"
#include "server/command/server_parts.h"
#include "server/command/table/text.h"
#include "server/values/library_locks.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;

// Whether the client may not write one of the keys that would be removed too; if so, sends the
// error.
bool RefusesRemains(Invocation& call, const values::LibraryRemains& remains) {
  if (!call.client.rights.is_limited()) return false;
  const auto is_denied = [&](const std::string& key) {
    return !call.client.rights.user()->MayUse(key, access::KeyUse::kWrite);
  };
  const auto denied = std::ranges::find_if(remains.keys, is_denied);
  if (denied == remains.keys.end()) return false;
  call.reply.Error(ErrorCode::kNoPerm,
                   "BREAK also deletes " + Quoted(*denied) + ", which this user may not write");
  return true;
}

void DeleteKey(Invocation& call, const engine::KeyName& key) {
  if (values::Value* value = call.server.values.Find(key, call.now)) {
    call.server.values.Delete(*value);
  } else {
    LocksOf(call).Release(key, call.client, call.server.locks.StepAt(call.now));
  }
}

void RemoveMember(Invocation& call, const engine::KeyName& key, std::string_view member) {
  values::Value* value = call.server.values.Find(key, call.now);
  auto* set = value == nullptr ? nullptr : std::get_if<values::SortedSet>(&value->content);
  if (set == nullptr || !set->Erase(member)) return;
  call.server.values.NoticeChange(*value, "zrem", kSortedSetEvents);
}

void EraseHolder(Invocation& call, values::Value& value, std::string_view owner) {
  if (auto* hash = std::get_if<values::Hash>(&value.content)) {
    hash->Erase(owner);
    call.server.values.NoticeChange(value, "hdel", kHashEvents);
  } else {
    std::get<values::SortedSet>(value.content).Erase(owner);
    call.server.values.NoticeChange(value, "zrem", kSortedSetEvents);
  }
}

std::string FirstWaiter(Invocation& call, std::uint8_t db, const values::LibraryLock& lock) {
  if (lock.queue_keys.empty()) return {};
  const values::Value* value =
      call.server.values.Find({.db = db, .bytes = lock.queue_keys.front()}, call.now);
  const auto* queue = value == nullptr ? nullptr : std::get_if<values::List>(&value->content);
  return queue == nullptr ? std::string() : queue->at(0);
}

void TellWaiters(Invocation& call, const values::LibraryRemains& remains) {
  if (remains.channel.empty() || remains.channel.size() > Channels::kNameBytesMax) return;
  if (call.server.delivery.is_in_step()) {
    call.server.messages.Publish(remains.channel, remains.message);
  } else {
    call.server.channels.Publish(remains.channel, remains.message);
  }
}

}  // namespace

bool BreaksLibraryLock(Invocation& call, const engine::KeyName& key,
                       std::optional<std::string_view> owner) {
  values::Value* value = call.server.values.Find(key, call.now);
  if (value == nullptr) return false;
  const auto lock = values::RecogniseLock(*value, call.server.unix_time.MsOf(call.now, call.now));
  if (!lock || (owner && std::ranges::find(lock->holders, *owner, &values::LibraryHolder::owner) ==
                             lock->holders.end())) {
    call.reply.Integer(0);
    return true;
  }
  if (owner && lock->holders.size() > 1) {
    EraseHolder(call, *value, *owner);
    call.reply.Integer(1);
    return true;
  }
  const values::LibraryRemains remains =
      values::RemainsOf(key.bytes, *lock, FirstWaiter(call, key.db, *lock));
  if (RefusesRemains(call, remains)) return true;
  call.server.values.Delete(*value);
  for (const std::string& each : remains.keys) DeleteKey(call, {.db = key.db, .bytes = each});
  for (const auto& [set, member] : remains.memberships) {
    RemoveMember(call, {.db = key.db, .bytes = set}, member);
  }
  TellWaiters(call, remains);
  call.reply.Integer(1);
  return true;
}

}  // namespace fairlock::command
