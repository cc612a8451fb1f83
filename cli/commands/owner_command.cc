// `owner`: lists everything that one owner holds or waits for.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "cli/commands/all_commands.h"
#include "cli/output/duration.h"
#include "cli/output/table.h"
#include "cli/views/claim_tables.h"
#include "cli/views/lock_walk.h"
#include "cli/views/server_locks.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

constexpr std::size_t kChainsShown = 20;

struct OwnerOptions {
  std::string owner;
  bool is_json = false;
};

// The owner's hold or place on one key.
struct Claim {
  std::string key;
  int database = 0;
  std::int64_t position = 0;  // 0 if the owner holds the lock
  DurationMs held_ms = 0;
  bool is_age_known = true;  // most libraries do not store it
  std::optional<DurationMs> ttl_ms;
};

// Returns nullopt if the claim has ended since the scan.
Result<std::optional<Claim>> FetchClaim(const LockRow& row, const std::string& owner,
                                        Client& client) {
  const auto selected = client.Ask({"SELECT", std::to_string(row.database())});
  if (!selected) return selected.failure();
  const Result<protocol::Reply> position = client.Ask({"POSITION", row.key(), owner});
  if (!position) return position.failure();
  if (position->IsNull()) return std::optional<Claim>();
  Claim claim{
      .key = row.key(), .database = row.database(), .position = position->integer, .ttl_ms = {}};
  const Result<LockView> lock = FetchLock(client, row.key());
  if (!lock) return lock.failure();
  for (const HolderView& holder : lock->holders) {
    if (holder.who.owner != owner) continue;
    claim.held_ms = holder.held_ms;
    claim.is_age_known = lock->library.empty() || holder.held_ms > 0;
    claim.ttl_ms = holder.ttl_ms;
  }
  return std::optional(claim);
}

Result<std::vector<Claim>> FindClaims(const std::string& owner, FleetLeaders& leaders,
                                      const Context& context) {
  LockWalk walk(leaders, {.database = context.settings.database, .owner = owner});
  std::vector<Claim> claims;
  while (!walk.is_over()) {
    const Result<std::vector<LockRow>> page = walk.NextPage();
    if (!page) return page.failure();
    for (const LockRow& row : *page) {
      const auto claim = FetchClaim(row, owner, *leaders.leader(walk.partition()).client);
      if (!claim) {
        leaders.Fail(walk.partition(), claim.failure());
        break;
      }
      if (*claim) claims.push_back(**claim);
    }
    if (const auto failure = leaders.TotalFailure()) return *failure;
  }
  std::ranges::sort(claims, {}, [](const Claim& claim) {
    return std::pair(claim.database, std::string_view(claim.key));
  });
  return claims;
}

std::string ClaimsText(const std::vector<Claim>& claims, const Screen& screen) {
  Table table({{.title = "KEY", .may_shrink = true},
               {.title = "DB", .is_right_aligned = true},
               {.title = "STATE"},
               {.title = "HELD FOR", .is_right_aligned = true},
               {.title = "LEASE LEFT", .is_right_aligned = true}},
              screen);
  for (const Claim& claim : claims) {
    const bool holds = claim.position == 0;
    table.Add({{screen.Printable(claim.key)},
               {std::to_string(claim.database)},
               {holds ? "holds" : "place " + std::to_string(claim.position),
                holds ? Tint::kGood : Tint::kWarning},
               {holds && claim.is_age_known ? ShowDuration(claim.held_ms) : "-"},
               {holds ? ShowTimeLeft(claim.ttl_ms, "unlimited") : "-"}});
  }
  return table.Flush();
}

boost::json::object ObjectOf(const Claim& claim) {
  const bool holds = claim.position == 0;
  boost::json::object object;
  json::AddText(object, "key", claim.key);
  object["db"] = claim.database;
  object["position"] = claim.position;
  object["held_ms"] = holds ? boost::json::value(claim.held_ms) : nullptr;
  object["ttl_ms"] = claim.ttl_ms ? boost::json::value(*claim.ttl_ms) : nullptr;
  return object;
}

// The chains of one database.
struct Chains {
  int database;
  std::vector<WaitChain> chains;
};

// What blocks the first few of the owner's waiting requests. REQUIRES: the claims are sorted by
// database.
std::vector<Chains> FindChains(const std::vector<Claim>& claims, const std::string& owner,
                               Context& context) {
  std::vector<Chains> found;
  std::optional<ServerLocks> locks;
  std::set<std::string> explained;
  std::size_t count = 0;
  for (const Claim& claim : claims) {
    if (claim.position == 0 || count == kChainsShown) continue;
    if (found.empty() || found.back().database != claim.database) {
      if (!context.client.Ask({"SELECT", std::to_string(claim.database)})) break;
      locks.emplace(context.client, context.settings, context.login, claim.database);
      explained.clear();
      found.push_back({claim.database, {}});
    }
    if (explained.contains(claim.key)) continue;
    const WaitingRequest request = RequestOf(owner, claim.key, *locks);
    explained.insert(request.keys.begin(), request.keys.end());
    found.back().chains.push_back(FindChain(request, *locks));
    ++count;
  }
  return found;
}

std::string ChainsText(const std::vector<Chains>& found, const Screen& screen) {
  std::string text;
  for (const Chains& database : found) {
    for (const WaitChain& chain : database.chains) {
      const std::string lines = ChainText(chain, screen);
      if (!lines.empty()) text += "\n" + lines;
    }
  }
  return text;
}

boost::json::array ArrayOf(const std::vector<Chains>& found) {
  boost::json::array array;
  for (const Chains& database : found) {
    for (const WaitChain& chain : database.chains) {
      boost::json::object object = {{"db", database.database}, {"chain", ChainArray(chain)}};
      json::AddText(object, "key", chain.request.keys.front());
      array.push_back(std::move(object));
    }
  }
  return array;
}

Result<int> ShowOwner(const OwnerOptions& options, Context& context) {
  Result<FleetLeaders> leaders = context.FindLeaders();
  if (!leaders) return leaders.failure();
  const Result<std::vector<Claim>> claims = FindClaims(options.owner, *leaders, context);
  if (!claims) return claims.failure();
  const std::vector<Chains> chains = FindChains(*claims, options.owner, context);
  if (options.is_json) {
    boost::json::array array;
    for (const Claim& claim : *claims) array.push_back(ObjectOf(claim));
    boost::json::object object = {{"claims", array}, {"waits", ArrayOf(chains)}};
    AddFailed(object, *leaders);
    context.PrintJson(object);
  } else if (claims->empty()) {
    context.Print(context.out.Printable(options.owner) + " holds nothing and waits for nothing.\n");
  } else {
    context.Print(ClaimsText(*claims, context.out) + ChainsText(chains, context.out));
  }
  return context.Conclude(*leaders, kExitDone);
}

Action DescribeOwner(Arguments& arguments) {
  auto options = std::make_shared<OwnerOptions>();
  arguments.Required("OWNER", options->owner, "The owner");
  arguments.Flag("--json", options->is_json, "Print JSON");
  return [options](Context& context) { return ShowOwner(*options, context); };
}

constexpr auto kOwnerCommands = std::to_array<CommandRow>({
    {"owner", kInspecting, "Lists everything that an owner holds or waits for", DescribeOwner},
});

}  // namespace

std::span<const CommandRow> OwnerCommands() { return kOwnerCommands; }

}  // namespace fairlock::cli
