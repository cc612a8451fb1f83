#include "server/command/handlers/library_lock_list.h"

#include <algorithm>
#include <string>
#include <utility>

#include "server/command/environment/unix_time.h"
#include "server/command/server_parts.h"

namespace fairlock::command {

namespace {

// The waiters in the queues of a lock that the user may read.
struct Waiters {
  std::uint64_t count = 0;
  bool has_owner = false;
};

Waiters CountWaiters(ServerParts& server, const access::User& user, const LibraryRow& row,
                     std::string_view owner, engine::TimeMs now) {
  Waiters waiters;
  for (const std::string& key : row.lock.queue_keys) {
    if (!user.MayUse(key, access::KeyUse::kRead)) continue;
    const values::Value* value =
        server.values.Find({.db = row.value->name().db, .bytes = key}, now);
    const auto* queue = value == nullptr ? nullptr : std::get_if<values::List>(&value->content);
    if (queue == nullptr) continue;
    waiters.count += queue->size();
    waiters.has_owner =
        waiters.has_owner || std::ranges::find(queue->elements(), owner) != queue->elements().end();
  }
  return waiters;
}

bool IsHolder(const LibraryRow& row, std::string_view owner) {
  return std::ranges::find(row.lock.holders, owner, &values::LibraryHolder::owner) !=
         row.lock.holders.end();
}

// Neither the times for which waiters have waited nor labels are known. REQUIRES: the key matches.
bool Passes(Invocation& call, LibraryRow& row, const engine::LockFilter& filter) {
  const Waiters waiters = CountWaiters(call.server, *call.client.rights.user(), row,
                                       filter.owner.value_or(""), call.now);
  row.waiter_count = waiters.count;
  if (filter.owner && !waiters.has_owner && !IsHolder(row, *filter.owner)) return false;
  if (filter.wait_ms_min && (row.waiter_count == 0 || *filter.wait_ms_min > 0)) return false;
  if (filter.hold_ms_min && row.oldest_hold_ms < *filter.hold_ms_min) return false;
  return !filter.is_endless || !row.value->expires();
}

engine::DurationMs OldestHoldMs(const values::LibraryLock& lock, engine::TimeMs now_unix_ms) {
  engine::DurationMs oldest_ms = 0;
  for (const values::LibraryHolder& holder : lock.holders) {
    oldest_ms = std::max(oldest_ms, now_unix_ms - holder.since_unix_ms.value_or(now_unix_ms));
  }
  return oldest_ms;
}

}  // namespace

std::uint64_t WalkLibraryLocks(Invocation& call, std::uint64_t cursor, std::size_t count,
                               const engine::LockFilter& filter, GlobWalk& walk,
                               std::vector<LibraryRow>& rows) {
  if (filter.label && !filter.label->empty()) return 0;
  const engine::TimeMs now_unix_ms = call.server.unix_time.MsOf(call.now, call.now);
  const auto examine = [&](const values::Value& value) {
    const engine::KeyName key = value.name();
    if (value.deadline() < call.now || (filter.db && key.db != *filter.db)) return;
    if (filter.glob != nullptr && !filter.glob->Matches(key.bytes, walk.compared())) return;
    walk.Charge(value.size() * GlobWalk::kLookCost);
    auto lock = values::RecogniseLock(value, now_unix_ms);
    if (!lock || !call.client.rights.MayRead(key.bytes, walk.compared())) return;
    const engine::DurationMs oldest_hold_ms = OldestHoldMs(*lock, now_unix_ms);
    rows.push_back({.value = &value, .lock = *std::move(lock), .oldest_hold_ms = oldest_hold_ms});
  };
  cursor = call.server.values.store().Scan(cursor, count, [&](const values::Value& value) {
    walk.ChargeLook();
    examine(value);
    return !walk.is_spent();
  });
  // Finding a queue may end an overdue one, so it must wait until the scan has ended.
  std::erase_if(rows, [&](LibraryRow& row) { return !Passes(call, row, filter); });
  return cursor;
}

std::optional<LibraryLockInfo> InspectLibraryLock(ServerParts& server, const access::User& user,
                                                  const engine::KeyName& key,
                                                  std::size_t holders_max, engine::TimeMs now) {
  static const engine::ClientIdentity kUnknown;
  const values::Value* value = server.values.Find(key, now);
  if (value == nullptr) return std::nullopt;
  const engine::TimeMs now_unix_ms = server.unix_time.MsOf(now, now);
  auto lock = values::RecogniseLock(*value, now_unix_ms);
  if (!lock) return std::nullopt;
  const LibraryRow row = {.value = value, .lock = *std::move(lock)};
  LibraryLockInfo shown = {.library = row.lock.library};
  engine::LockInfo& info = shown.info;
  info.is_shared = row.lock.is_shared;
  info.holder_count = row.lock.holders.size();
  info.waiter_count = CountWaiters(server, user, row, {}, now).count;
  for (const values::LibraryHolder& holder : row.lock.holders) {
    if (info.holders.size() == holders_max) break;
    engine::HolderInfo& one = info.holders.emplace_back();
    one.owner = holder.owner;
    one.held_ms =
        std::max<engine::DurationMs>(now_unix_ms - holder.since_unix_ms.value_or(now_unix_ms), 0);
    one.since = now - one.held_ms;
    if (value->expires()) one.ttl_ms = value->deadline() - now;
    if (holder.end_unix_ms) one.ttl_ms = *holder.end_unix_ms - now_unix_ms;
    one.mode.is_shared = row.lock.is_shared;
    one.client = &kUnknown;
  }
  return shown;
}

void WriteLibraryRow(protocol::ReplyWriter& reply, const LibraryRow& row, engine::TimeMs now) {
  reply.ArrayHeader(11);
  reply.Bulk(row.value->name().bytes);
  reply.Integer(static_cast<std::int64_t>(row.lock.holders.size()));
  reply.Integer(static_cast<std::int64_t>(row.waiter_count));
  reply.Integer(0);
  reply.Integer(row.oldest_hold_ms);
  reply.Bulk("");
  reply.Integer(1);
  reply.Bulk(row.lock.holders.front().owner);
  reply.Integer(row.value->name().db);
  reply.Bulk(row.lock.library);
  if (row.value->expires()) {
    reply.Integer(std::max<engine::DurationMs>(row.value->deadline() - now, 0));
  } else {
    reply.Null();
  }
}

}  // namespace fairlock::command
