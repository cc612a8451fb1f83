#include "server/command/transactions/transactions.h"

#include <algorithm>
#include <string>

#include "server/command/locks/locks.h"
#include "server/command/table/command_table.h"

namespace fairlock::command {

using protocol::ErrorCode;

namespace {

// How much one connection may queue and watch while memory is short: enough to release some locks.
constexpr std::size_t kTransactionBytesWhenShort = 64 * 1024;
constexpr std::size_t kWatchedKeysWhenShort = 64;

}  // namespace

void Transactions::Spoil(const Client& client) {
  if (IsCollecting(client)) client.transaction->Spoil();
}

bool Transactions::Collect(Client& client, std::size_t row, std::uint32_t flags,
                           const protocol::Arguments& arguments,
                           protocol::ReplyWriter& reply) const {
  if (!IsCollecting(client) || (flags & kNotQueued) != 0) return false;
  Transaction& transaction = *client.transaction;
  const TransactionLimits limits = LimitsNow();
  if ((flags & kNoMulti) != 0) {
    transaction.Spoil();
    reply.Error(ErrorCode::kErr, "Command not allowed inside a transaction");
  } else if (availability_.RefusesQueued(flags, reply)) {
    transaction.Spoil();
  } else if (transaction.is_spoiled()) {
    reply.Simple("QUEUED");
  } else if (transaction.size() >= limits_.requests_max) {
    transaction.Spoil();
    reply.Error(ErrorCode::kFull, "more requests after MULTI than " +
                                      std::to_string(limits_.requests_max) +
                                      " (max_transaction_requests); EXEC first");
  } else if (availability_.memory().is_short() &&
             transaction.BytesWith(arguments) > limits.bytes_max) {
    transaction.Spoil();
    availability_.RefuseForMemory(reply);
  } else if (transaction.BytesWith(arguments) > limits.bytes_max) {
    transaction.Spoil();
    reply.Error(ErrorCode::kFull, "more bytes of requests after MULTI than " +
                                      std::to_string(limits_.bytes_max) +
                                      " (max_transaction_size); EXEC first");
  } else {
    transaction.Add(row, flags, arguments);
    reply.Simple("QUEUED");
  }
  return true;
}

void Transactions::EndWatches(Client& client) {
  if (client.transaction == nullptr) return;
  for (const Watch& watch : client.transaction->watches()) watched_keys_.End(watch);
  client.transaction->watches().clear();
  if (!client.transaction->is_open()) client.transaction.reset();
}

void Transactions::Drop(Client& client) {
  EndWatches(client);
  client.transaction.reset();
}

TransactionLimits Transactions::LimitsNow() const {
  TransactionLimits limits = limits_;
  if (!availability_.memory().is_short()) return limits;
  limits.bytes_max = std::min(limits.bytes_max, kTransactionBytesWhenShort);
  limits.watched_keys_max = std::min(limits.watched_keys_max, kWatchedKeysWhenShort);
  return limits;
}

Watch WatchedKeys::Begin(const engine::KeyName& key, engine::TimeMs now) {
  engine::LockEngine& engine = locks_.engine();
  // This first expires overdue holds, so that their end does not count as a change.
  const std::uint64_t lease_stamp = engine.inspection().LeaseStamp(key, locks_.StepAt(now));
  const std::uint64_t hash = engine.Prefetch(key);
  if (entries_.empty()) locks_.AddEventSink(*this);
  Entry& entry = entries_[hash];
  ++entry.watches;
  return {key.db, std::string(key.bytes), hash, entry.changes, lease_stamp};
}

void WatchedKeys::End(const Watch& watch) {
  const auto entry = entries_.find(watch.key_hash);
  if (--entry->second.watches > 0) return;
  entries_.erase(entry);
  if (entries_.empty()) locks_.DropEventSink(*this);
}

bool WatchedKeys::HasChanged(const Watch& watch, engine::TimeMs now) {
  const std::uint64_t lease_stamp = locks_.engine().inspection().LeaseStamp(
      {watch.db, watch.key, watch.key_hash}, locks_.StepAt(now));
  return entries_.find(watch.key_hash)->second.changes != watch.changes ||
         lease_stamp != watch.lease_stamp;
}

void WatchedKeys::Take(const engine::Event& event) {
  switch (event.kind) {
    case engine::EventKind::kReacquired:
    case engine::EventKind::kDenied:
    case engine::EventKind::kQueued:
    case engine::EventKind::kRenewed:
    case engine::EventKind::kCancelled:
    case engine::EventKind::kReplaced:
    case engine::EventKind::kTimedOut:
    case engine::EventKind::kLapsed:
    case engine::EventKind::kVacated:
    case engine::EventKind::kLeaving:
      return;
    default:
      break;
  }
  CountChange(event.key_hash);
}

void WatchedKeys::CountChange(std::uint64_t key_hash) {
  if (entries_.empty()) return;
  const auto entry = entries_.find(key_hash);
  if (entry != entries_.end()) ++entry->second.changes;
}

}  // namespace fairlock::command
