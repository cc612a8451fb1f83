#include "server/values/library_locks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <variant>

#include "server/values/redisson_locks.h"
#include "text/ascii.h"
#include "text/number.h"

namespace fairlock::values {

namespace {

// Whether the score may be a Unix time in milliseconds: between 2001 and 2286.
bool IsUnixMs(double score) { return score >= 1e12 && score < 1e13 && score == std::floor(score); }

// Unix seconds, such as "1700000000.123", as milliseconds.
std::optional<engine::TimeMs> ParseUnixSeconds(std::string_view text) {
  const auto seconds = text::ParseNumber<double>(text);
  if (!seconds) return std::nullopt;
  const double ms = std::floor(*seconds * 1000);
  if (!IsUnixMs(ms)) return std::nullopt;
  return static_cast<engine::TimeMs>(ms);
}

// A sorted set of random tokens with the ends of their leases, and "__write__" for a writer.
bool ReadSymfony(const Value& value, engine::TimeMs now_unix_ms, LibraryLock& lock) {
  constexpr std::size_t kTokenLength = 44;  // 32 bytes in base64
  const auto is_base64 = [](char c) {
    return text::IsDigit(c) || text::IsLetter(c) || c == '+' || c == '/';
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
    if (end > now_unix_ms)
      lock.holders.push_back({.owner = member.name, .element = token, .end_unix_ms = end});
  }
  return true;
}

// A sorted set of holders with the times of their last refresh. The key lives as long as a lease.
bool ReadRedisSemaphore(const Value& value, engine::TimeMs now_unix_ms, LibraryLock& lock) {
  if (!value.name().bytes.starts_with("semaphore:") || value.ttl_ms == 0) return false;
  for (const SortedSet::Member& member : std::get<SortedSet>(value.content).members()) {
    if (!IsUnixMs(member.score)) return false;
    const engine::TimeMs end = static_cast<engine::TimeMs>(member.score) + value.ttl_ms;
    if (end <= now_unix_ms) continue;
    lock.holders.push_back({.owner = member.name, .element = member.name, .end_unix_ms = end});
  }
  return true;
}

// The text after the string that begins at `begin`; empty if the string does not end.
std::string_view BehindString(std::string_view json, std::size_t begin) {
  for (std::size_t i = begin + 1; i < json.size(); ++i) {
    if (json[i] == '\\') {
      ++i;
    } else if (json[i] == '"') {
      return json.substr(i + 1);
    }
  }
  return {};
}

// The number that a member of a JSON object is, as text; empty if there is none. Does not check
// whether the rest is JSON.
std::string_view NumberOfMember(std::string_view json, std::string_view name) {
  if (!json.starts_with('{') || !json.ends_with('}')) return {};
  int depth = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c != '"') continue;
    std::string_view rest = BehindString(json, i);
    if (rest.empty()) return {};
    const std::size_t end = json.size() - rest.size();
    const bool is_wanted = depth == 1 && json.substr(i + 1, end - i - 2) == name;
    i = end - 1;
    constexpr std::string_view kBlanks = " \t\r\n";
    rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
    if (!is_wanted || !rest.starts_with(':')) continue;
    rest.remove_prefix(1);
    rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
    return rest.substr(0, rest.find_first_of(" \t\r\n,}"));
  }
  return {};
}

constexpr std::string_view kLocked = ":LOCKED";

// A hash of the jobs that hold a digest. Up to version 8, each has the time at which it locked it,
// in seconds; since version 9, a JSON object that has this time, and there are no lists.
bool ReadUniqueJobs(const Value& value, engine::TimeMs /*now_unix_ms*/, LibraryLock& lock) {
  const std::string_view key = value.name().bytes;
  if (!key.ends_with(kLocked) || key.size() == kLocked.size()) return false;
  bool is_object = false;
  for (const Hash::Field& field : std::get<Hash>(value.content).fields()) {
    const std::string_view time = NumberOfMember(field.value, "time");
    is_object = is_object || !time.empty();
    const auto since = ParseUnixSeconds(time.empty() ? field.value : time);
    if (!since) return false;
    lock.holders.push_back({.owner = field.name, .element = field.name, .since_unix_ms = since});
  }
  if (is_object) return true;
  const std::string digest(key.substr(0, key.size() - kLocked.size()));
  // A job enters QUEUED at the left, leaves it at the right, and enters PRIMED at the left.
  for (const char* list : {":PRIMED", ":QUEUED"}) {
    lock.queues.push_back({.key = digest + list, .first = ListEnd::kRight});
  }
  lock.mark = "1";  // wakes a waiter at an unlock
  return true;
}

// The end of the last remaining lease is that of the value.
void PlanSymfony(const Value& /*value*/, const LibraryLock& lock, std::string_view /*first_waiter*/,
                 LibraryBreak& plan) {
  for (const LibraryHolder& holder : lock.holders) {
    if (holder.owner == plan.ended.front().owner) continue;
    plan.end_unix_ms = std::max(plan.end_unix_ms.value_or(0), *holder.end_unix_ms);
  }
}

void PlanRedisSemaphore(const Value& /*value*/, const LibraryLock& /*lock*/,
                        std::string_view /*first_waiter*/, LibraryBreak& /*plan*/) {}

void PlanUniqueJobs(const Value& value, const LibraryLock& lock, std::string_view /*first_waiter*/,
                    LibraryBreak& plan) {
  constexpr engine::DurationMs kMarkMs = 5000;
  const std::string_view key = value.name().bytes;
  const std::string digest(key.substr(0, key.size() - kLocked.size()));
  if (!lock.mark) {
    if (!plan.is_whole) return;
    // An older version may have left the other keys.
    plan.keys = {digest, digest + ":QUEUED", digest + ":PRIMED", digest + ":INFO"};
    plan.memberships = {{.key = "uniquejobs:digests", .member = digest}};
    return;
  }
  plan.keys = {digest, digest + ":INFO"};
  if (plan.is_whole) {
    plan.keys.push_back(digest + ":PRIMED");
    for (const char* digests : {"uniquejobs:digests", "uniquejobs:expiring_digests"}) {
      plan.memberships.push_back({.key = digests, .member = digest});
    }
  }
  plan.push = {.key = digest + ":QUEUED", .element = *lock.mark, .ttl_ms = kMarkMs};
}

struct Shape {
  std::string_view library;
  ValueType type;
  // Returns whether the value, which is of that type, has the shape. Fills in everything but the
  // library.
  bool (*read)(const Value& value, engine::TimeMs now_unix_ms, LibraryLock& lock);
  // Completes the plan, in which the ended holders are already set.
  void (*plan)(const Value& value, const LibraryLock& lock, std::string_view first_waiter,
               LibraryBreak& plan);
};

// If a value has several shapes, the first one counts.
constexpr auto kShapes = std::to_array<Shape>({
    {"redisson", ValueType::kHash, ReadRedissonLock, PlanRedissonLock},
    {"redisson", ValueType::kSortedSet, ReadRedissonPermits, PlanRedissonPermits},
    {"unique-jobs", ValueType::kHash, ReadUniqueJobs, PlanUniqueJobs},
    {"symfony", ValueType::kSortedSet, ReadSymfony, PlanSymfony},
    {"redis-semaphore", ValueType::kSortedSet, ReadRedisSemaphore, PlanRedisSemaphore},
});

}  // namespace

std::optional<LibraryLock> RecogniseLock(const Value& value, engine::TimeMs now_unix_ms) {
  if (value.size() > kLibraryElementsMax) return std::nullopt;
  for (const Shape& shape : kShapes) {
    if (shape.type != value.type()) continue;
    LibraryLock lock = {.library = shape.library};
    if (!shape.read(value, now_unix_ms, lock)) continue;
    if (lock.holders.empty()) return std::nullopt;
    return lock;
  }
  return std::nullopt;
}

LibraryBreak PlanBreak(const Value& value, const LibraryLock& lock,
                       std::optional<std::string_view> owner, std::string_view first_waiter) {
  LibraryBreak plan;
  std::ranges::copy_if(
      lock.holders, std::back_inserter(plan.ended),
      [&](const LibraryHolder& holder) { return !owner || holder.owner == *owner; });
  plan.is_whole = plan.ended.size() == lock.holders.size();
  const auto* shape = std::ranges::find_if(kShapes, [&](const Shape& each) {
    return each.library == lock.library && each.type == value.type();
  });
  shape->plan(value, lock, first_waiter, plan);
  return plan;
}

}  // namespace fairlock::values
