#include "server/values/library_locks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <variant>

#include "server/values/set.h"

namespace fairlock::values {

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool IsUuid(std::string_view text) {
  constexpr std::size_t kLength = 36;
  if (text.size() != kLength) return false;
  for (std::size_t i = 0; i < kLength; ++i) {
    const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (is_dash ? text[i] != '-' : !IsHexDigit(text[i])) return false;
  }
  return true;
}

// Whether the score may be a Unix time in milliseconds: between 2001 and 2286.
bool IsUnixMs(double score) { return score >= 1e12 && score < 1e13 && score == std::floor(score); }

// Unix seconds, such as "1700000000.123", as milliseconds.
std::optional<engine::TimeMs> ParseUnixSeconds(std::string_view text) {
  double seconds = 0;
  const auto parsed = std::from_chars(text.begin(), text.end(), seconds);
  if (parsed.ec != std::errc() || parsed.ptr != text.end()) return std::nullopt;
  const double ms = std::floor(seconds * 1000);
  if (!IsUnixMs(ms)) return std::nullopt;
  return static_cast<engine::TimeMs>(ms);
}

// The key of what Redisson stores beside a lock: it keeps both in the same slot of a cluster.
std::string RedissonKey(std::string_view prefix, std::string_view name) {
  std::string key(prefix);
  if (name.find('{') != std::string_view::npos) return key.append(":").append(name);
  return key.append(":{").append(name).append("}");
}

// A hash of "UUID:THREAD" to the number of times that the thread has locked it. That of a
// read-write lock also has the field "mode", and ":write" follows the thread of a writer.
bool ReadRedisson(const Value& value, engine::TimeMs /*now_unix_ms*/, LibraryLock& lock) {
  constexpr std::size_t kUuidLength = 36;
  constexpr std::string_view kWrite = ":write";
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
    if (thread.size() < kUuidLength + 2 || !IsUuid(thread.substr(0, kUuidLength)) ||
        thread[kUuidLength] != ':' ||
        !std::ranges::all_of(thread.substr(kUuidLength + 1), IsDigit)) {
      return false;
    }
    const auto count = ParsePlainNumber(field.value);
    if (!count || *count < 1) return false;
    lock.holders.push_back({.owner = field.name});
  }
  if (!has_mode) {
    lock.queue_keys.push_back(RedissonKey("redisson_lock_queue", value.name().bytes));
  }
  return true;
}

// A sorted set of random tokens with the ends of their leases, and "__write__" for a writer.
bool ReadSymfony(const Value& value, engine::TimeMs now_unix_ms, LibraryLock& lock) {
  constexpr std::size_t kTokenLength = 44;  // 32 bytes in base64
  const auto is_base64 = [](char c) {
    return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '/';
  };
  lock.is_shared = true;
  for (const SortedSet::Member& member : std::get<SortedSet>(value.content).members()) {
    if (!IsUnixMs(member.score)) return false;
    if (member.name == "__write__") {
      lock.is_shared = false;
      continue;
    }
    const std::string_view token = member.name;
    if (token.size() != kTokenLength || token.back() != '=' ||
        !std::ranges::all_of(token.substr(0, kTokenLength - 1), is_base64)) {
      return false;
    }
    const auto end = static_cast<engine::TimeMs>(member.score);
    if (end > now_unix_ms) lock.holders.push_back({.owner = token, .end_unix_ms = end});
  }
  return true;
}

// A sorted set of holders with the times of their last refresh. The key lives as long as a lease.
bool ReadRedisSemaphore(const Value& value, engine::TimeMs now_unix_ms, LibraryLock& lock) {
  if (!value.name().bytes.starts_with("semaphore:") || value.ttl_ms == 0) return false;
  for (const SortedSet::Member& member : std::get<SortedSet>(value.content).members()) {
    if (!IsUnixMs(member.score)) return false;
    const engine::TimeMs end = static_cast<engine::TimeMs>(member.score) + value.ttl_ms;
    if (end > now_unix_ms) lock.holders.push_back({.owner = member.name, .end_unix_ms = end});
  }
  return true;
}

constexpr std::string_view kLocked = ":LOCKED";

// A hash of the jobs that hold a digest, with the times at which they locked it, in seconds.
bool ReadUniqueJobs(const Value& value, engine::TimeMs /*now_unix_ms*/, LibraryLock& lock) {
  const std::string_view key = value.name().bytes;
  if (!key.ends_with(kLocked) || key.size() == kLocked.size()) return false;
  for (const Hash::Field& field : std::get<Hash>(value.content).fields()) {
    const auto since = ParseUnixSeconds(field.value);
    if (!since) return false;
    lock.holders.push_back({.owner = field.name, .since_unix_ms = since});
  }
  const std::string digest(key.substr(0, key.size() - kLocked.size()));
  lock.queue_keys = {digest + ":QUEUED", digest + ":PRIMED"};
  return true;
}

// A fair lock has a queue, and tells only its first waiter.
LibraryRemains RedissonRemains(std::string_view key, const LibraryLock& lock,
                               std::string_view first_waiter) {
  // Only a read-write lock has no queue key.
  const bool has_modes = lock.queue_keys.empty();
  LibraryRemains remains = {.message = "0"};
  remains.channel = RedissonKey(has_modes ? "redisson_rwlock" : "redisson_lock__channel", key);
  if (!first_waiter.empty()) remains.channel.append(":").append(first_waiter);
  return remains;
}

LibraryRemains NoRemains(std::string_view /*key*/, const LibraryLock& /*lock*/,
                         std::string_view /*first_waiter*/) {
  return {};
}

LibraryRemains UniqueJobsRemains(std::string_view key, const LibraryLock& lock,
                                 std::string_view /*first_waiter*/) {
  const std::string digest(key.substr(0, key.size() - kLocked.size()));
  LibraryRemains remains = {.keys = lock.queue_keys};
  remains.keys.insert(remains.keys.end(), {digest, digest + ":INFO"});
  for (const char* digests : {"uniquejobs:digests", "uniquejobs:expiring_digests"}) {
    remains.memberships.push_back({.key = digests, .member = digest});
  }
  return remains;
}

struct Shape {
  std::string_view library;
  ValueType type;
  // Returns whether the value, which is of that type, has the shape. Fills in everything but the
  // library.
  bool (*read)(const Value& value, engine::TimeMs now_unix_ms, LibraryLock& lock);
  LibraryRemains (*remains)(std::string_view key, const LibraryLock& lock,
                            std::string_view first_waiter);
};

// Of the shapes that a value has, the first one counts.
constexpr auto kShapes = std::to_array<Shape>({
    {"redisson", ValueType::kHash, ReadRedisson, RedissonRemains},
    {"unique-jobs", ValueType::kHash, ReadUniqueJobs, UniqueJobsRemains},
    {"symfony", ValueType::kSortedSet, ReadSymfony, NoRemains},
    {"redis-semaphore", ValueType::kSortedSet, ReadRedisSemaphore, NoRemains},
});

}  // namespace

std::optional<LibraryLock> RecogniseLock(const Value& value, engine::TimeMs now_unix_ms) {
  for (const Shape& shape : kShapes) {
    if (shape.type != value.type()) continue;
    LibraryLock lock = {.library = shape.library};
    if (!shape.read(value, now_unix_ms, lock)) continue;
    if (lock.holders.empty()) return std::nullopt;
    return lock;
  }
  return std::nullopt;
}

LibraryRemains RemainsOf(std::string_view key, const LibraryLock& lock,
                         std::string_view first_waiter) {
  const auto* shape = std::ranges::find(kShapes, lock.library, &Shape::library);
  return shape->remains(key, lock, first_waiter);
}

}  // namespace fairlock::values
