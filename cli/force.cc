#include "cli/force.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace fairlock::cli {

namespace {

bool AreSameHolds(const LockView& a, const LockView& b) {
  return std::ranges::equal(a.holders, b.holders, {}, &HolderView::token, &HolderView::token);
}

}  // namespace

void KeepOnlyTargets(LockView& lock, const Force& force) {
  if (!force.owner) return;
  std::erase_if(lock.holders,
                [&](const HolderView& holder) { return holder.who.owner != *force.owner; });
}

Result<std::optional<std::int64_t>> BreakIfUnchanged(const Force& force, const LockView& seen,
                                                     Client& client) {
  Result<LockView> lock = AskForLock(client, force.key);
  if (!lock) return lock.failure();
  KeepOnlyTargets(*lock, force);
  if (!AreSameHolds(*lock, seen)) return std::optional<std::int64_t>();
  std::vector<std::string_view> words = {"BREAK", force.key};
  if (force.owner) words.push_back(*force.owner);
  if (force.reason) words.insert(words.end(), {"REASON", *force.reason});
  const Result<protocol::Reply> reply = client.Ask(words);
  if (!reply) return reply.failure();
  return std::optional(reply->integer);
}

}  // namespace fairlock::cli
