#include "cli/views/force_release.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace fairlock::cli {

namespace {

// The holds of a library's lock have no token.
bool IsSameHold(const HolderView& a, const HolderView& b) {
  return a.token == b.token && a.who.owner == b.who.owner;
}

// Cooldowns and reservations end by themselves, so it is not a change if there are fewer of them.
bool IsUnchanged(const LockView& now, const LockView& seen) {
  return now.reserved_count <= seen.reserved_count &&
         std::ranges::equal(now.holders, seen.holders, IsSameHold);
}

std::string Counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace

Ended& Ended::operator+=(const Ended& other) {
  holds += other.holds;
  reservations += other.reservations;
  coolings += other.coolings;
  return *this;
}

Ended CountTargets(const LockView& lock) {
  return {.holds = static_cast<std::int64_t>(lock.holders.size()),
          .reservations = lock.reserved_count,
          .coolings = lock.cooling_ms > 0 ? 1 : 0};
}

std::string EndedText(const Ended& ended) {
  std::string text;
  const auto add = [&](std::int64_t count, const std::string& noun) {
    if (count > 0) text += (text.empty() ? "" : " and ") + Counted(count, noun);
  };
  add(ended.holds, "hold");
  add(ended.reservations, "reservation");
  add(ended.coolings, "cooldown");
  return text.empty() ? Counted(0, "hold") : text;
}

void RemoveNonTargets(LockView& lock, const ForceRelease& force) {
  if (!force.owner && !force.grace_ms) return;
  lock.reserved_count = 0;
  lock.cooling_ms = 0;
  if (!force.owner) return;
  std::erase_if(lock.holders,
                [&](const HolderView& holder) { return holder.who.owner != *force.owner; });
}

Result<std::optional<Ended>> BreakIfUnchanged(const ForceRelease& force, const LockView& seen,
                                              Client& client) {
  Result<LockView> lock = FetchLock(client, force.key);
  if (!lock) return lock.failure();
  RemoveNonTargets(*lock, force);
  if (!IsUnchanged(*lock, seen)) return std::optional<Ended>();
  std::vector<std::string> words = {"BREAK", force.key};
  if (force.owner) words.push_back(*force.owner);
  if (force.grace_ms) words.insert(words.end(), {"GRACE", std::to_string(*force.grace_ms)});
  if (force.reason) words.insert(words.end(), {"REASON", *force.reason});
  const std::vector<std::string_view> request(words.begin(), words.end());
  const Result<protocol::Reply> reply = client.Ask(request);
  if (!reply) return reply.failure();
  Ended ended = CountTargets(*lock);
  ended.holds = reply->integer;
  return std::optional(ended);
}

}  // namespace fairlock::cli
