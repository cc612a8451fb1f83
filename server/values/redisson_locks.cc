#include "server/values/redisson_locks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <variant>

#include "server/values/set.h"
#include "text/ascii.h"
#include "text/hexadecimal.h"

namespace fairlock::values {

namespace {

constexpr std::size_t kUuidLength = 36;
constexpr std::string_view kWrite = ":write";
constexpr std::string_view kQueue = "redisson_lock_queue";
constexpr std::string_view kReading = ":rwlock_timeout:";
constexpr std::string_view kPermits = ":timeout";

bool IsHexDigit(char c) {
  return text::IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool IsUuid(std::string_view text) {
  if (text.size() != kUuidLength) return false;
  for (std::size_t i = 0; i < kUuidLength; ++i) {
    const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (is_dash ? text[i] != '-' : !IsHexDigit(text[i])) return false;
  }
  return true;
}

// Whether the text is UUID:THREAD.
bool IsThread(std::string_view text) {
  return text.size() >= kUuidLength + 2 && IsUuid(text.substr(0, kUuidLength)) &&
         text[kUuidLength] == ':' &&
         std::ranges::all_of(text.substr(kUuidLength + 1), text::IsDigit);
}

// A name as it appears within other keys, so that a cluster keeps these in the same slot.
std::string Braced(std::string_view name) {
  if (name.find('{') != std::string_view::npos) return std::string(name);
  return std::string("{").append(name).append("}");
}

std::string Prefixed(std::string_view prefix, std::string_view name) {
  return std::string(prefix).append(":").append(Braced(name));
}

// The names that have this form, the likelier one first.
std::vector<std::string> NamesOf(std::string_view braced) {
  const std::size_t brace = braced.find('{');
  if (brace == std::string_view::npos) return {};
  const bool is_added = brace == 0 && braced.size() > 2 && braced.ends_with('}') &&
                        braced.find('{', 1) == std::string_view::npos;
  if (!is_added) return {std::string(braced)};
  return {std::string(braced.substr(1, braced.size() - 2)), std::string(braced)};
}

LibraryQueue QueueOf(std::string_view name) {
  return {.key = Prefixed(kQueue, name), .ends_key = Prefixed("redisson_lock_timeout", name)};
}

// The end of a permit is a Unix time in milliseconds, or this time if it does not end.
constexpr double kNoEnd = 922337203685477;

bool IsPermitEnd(double score) {
  return score == kNoEnd || (score >= 1e12 && score < 1e13 && score == std::floor(score));
}

// The keys whose time to live is that of one reading each, up to a bound. A writer has none.
void AddReadingKeys(std::string_view name, const LibraryHolder& reader,
                    std::vector<std::string>& keys) {
  constexpr std::size_t kKeysMax = 1000;
  if (reader.owner.ends_with(kWrite)) return;
  for (std::int64_t i = 1; i <= reader.count && keys.size() < kKeysMax; ++i) {
    keys.push_back(Braced(name).append(":").append(reader.owner).append(kReading) +
                   std::to_string(i));
  }
}

// A writer that ends may leave its own readings behind, and a reader other readers.
void PlanModes(std::string_view name, const LibraryLock& lock, LibraryBreak& plan) {
  for (const LibraryHolder& holder : plan.ended) AddReadingKeys(name, holder, plan.keys);
  if (plan.is_whole) {
    plan.channel = Prefixed("redisson_rwlock", name);
    plan.message = lock.is_shared ? "0" : "1";  // a writer's message wakes all readers
    return;
  }
  const bool is_writer = plan.ended.front().owner.ends_with(kWrite);
  plan.leaves_readers = is_writer;
  if (!lock.is_shared && !is_writer) return;  // the writer's lease is that of the value
  for (const LibraryHolder& holder : lock.holders) {
    if (holder.owner != plan.ended.front().owner) AddReadingKeys(name, holder, plan.end_keys);
  }
}

}  // namespace

// A hash of "UUID:THREAD" to the number of times that the thread has locked it. The hash of a
// read-write lock also has the field "mode", and ":write" follows the thread of a writer.
bool ReadRedissonLock(const Value& value, engine::TimeMs /*now_unix_ms*/, LibraryLock& lock) {
  bool has_mode = false;
  for (const Hash::Field& field : std::get<Hash>(value.content).fields()) {
    if (field.name == "mode") {
      lock.is_shared = field.value == "read";
      if (!lock.is_shared && field.value != "write") return false;
      has_mode = true;
      continue;
    }
    std::string_view thread = field.name;
    if (thread.ends_with(kWrite)) thread.remove_suffix(kWrite.size());
    const auto count = ParsePlainNumber(field.value);
    if (!IsThread(thread) || !count || *count < 1) return false;
    lock.holders.push_back({.owner = field.name, .element = field.name, .count = *count});
  }
  if (!has_mode) {
    const std::string_view name = value.name().bytes;
    lock.queues.push_back(QueueOf(name));
    lock.token_key = Prefixed("redisson_lock_token", name);
  }
  return true;
}

// A sorted set of the permits, 16 random bytes each, by the ends of their leases.
bool ReadRedissonPermits(const Value& value, engine::TimeMs now_unix_ms, LibraryLock& lock) {
  constexpr std::size_t kPermitBytes = 16;
  const std::string_view key = value.name().bytes;
  if (!key.ends_with(kPermits)) return false;
  lock.permits_keys = NamesOf(key.substr(0, key.size() - kPermits.size()));
  if (lock.permits_keys.empty()) return false;
  for (const SortedSet::Member& member : std::get<SortedSet>(value.content).members()) {
    if (member.name.size() != kPermitBytes || !IsPermitEnd(member.score)) return false;
    LibraryHolder holder = {.owner = text::HexOf(member.name), .element = member.name};
    if (member.score != kNoEnd) holder.end_unix_ms = static_cast<engine::TimeMs>(member.score);
    if (holder.end_unix_ms && *holder.end_unix_ms <= now_unix_ms) {
      ++lock.overdue_count;
    } else {
      lock.holders.push_back(std::move(holder));
    }
  }
  return true;
}

void PlanRedissonLock(const Value& value, const LibraryLock& lock, std::string_view first_waiter,
                      LibraryBreak& plan) {
  const std::string_view name = value.name().bytes;
  const bool has_modes = lock.queues.empty();
  if (has_modes) return PlanModes(name, lock, plan);
  plan.channel = Prefixed("redisson_lock__channel", name);
  plan.message = "0";
  // A fair lock tells only its first waiter.
  if (!first_waiter.empty()) plan.channel.append(":").append(first_waiter);
}

void PlanRedissonPermits(const Value& value, const LibraryLock& lock,
                         std::string_view /*first_waiter*/, LibraryBreak& plan) {
  plan.permits = plan.is_whole ? value.size() : plan.ended.size();
  plan.channel = Prefixed("redisson_sc", lock.permits_keys.front());
}

LibraryLock FreeLockOf(std::string_view key) {
  return {.library = "redisson", .queues = {QueueOf(key)}};
}

std::vector<std::string> LocksOfQueue(const Value& value) {
  const auto* queue = std::get_if<List>(&value.content);
  std::string_view key = value.name().bytes;
  if (queue == nullptr || queue->size() > kLibraryElementsMax || !key.starts_with(kQueue))
    return {};
  key.remove_prefix(kQueue.size());
  if (!key.starts_with(':') || !std::ranges::all_of(queue->elements(), IsThread)) return {};
  return NamesOf(key.substr(1));
}

bool IsBesideLock(std::string_view key, std::string_view owner) {
  if (owner.empty() || !std::ranges::all_of(owner, text::IsDigit)) return false;
  if (key.starts_with("redisson_lock_token:")) return true;
  if (key.starts_with("redisson_unlock_latch:")) return owner == "0" || owner == "1";
  const std::size_t reading = key.rfind(kReading);
  if (reading == std::string_view::npos || owner != "1") return false;
  const std::string_view number = key.substr(reading + kReading.size());
  return !number.empty() && std::ranges::all_of(number, text::IsDigit) &&
         key.find('{') != std::string_view::npos;
}

}  // namespace fairlock::values
