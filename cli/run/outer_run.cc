#include "cli/run/outer_run.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "cli/views/lock_views.h"

namespace fairlock::cli {

namespace {

constexpr const char* kTokens = "FAIRLOCK_TOKENS";

std::string OuterTokens() {
  const char* const tokens = std::getenv(kTokens);
  return tokens == nullptr ? "" : tokens;
}

// Whether the request could not be granted even if there were no other holder.
bool Excludes(const ClaimantView& holder, const LockArguments& words) {
  if (holder.is_shared() || words.is_shared) return holder.is_shared() != words.is_shared;
  return std::min(holder.limit, words.limit.value_or(1)) < 2;
}

}  // namespace

std::string TokensVariable(std::int64_t own_token) {
  const std::string outer = OuterTokens();
  return std::string(kTokens) + "=" + outer + (outer.empty() ? "" : " ") +
         std::to_string(own_token);
}

std::optional<OuterHold> FindOuterHold(const RunOptions& options, Client& client) {
  std::istringstream tokens(OuterTokens());
  std::vector<std::int64_t> outer;
  for (std::int64_t token = 0; tokens >> token;) outer.push_back(token);
  if (outer.empty()) return std::nullopt;
  for (const std::string& key : options.keys) {
    const Result<LockView> lock = FetchLock(client, key);
    if (!lock) return std::nullopt;
    for (const HolderView& holder : lock->holders) {
      const bool is_outer = std::ranges::find(outer, holder.token) != outer.end();
      if (is_outer && Excludes(holder.who, options.words)) return OuterHold{key, holder.who.owner};
    }
  }
  return std::nullopt;
}

}  // namespace fairlock::cli
