#include "server/http/api.h"

#include <algorithm>
#include <array>
#include <utility>

#include "server/command/cluster/slots.h"
#include "server/command/table/text.h"
#include "server/http/answers.h"
#include "server/http/inputs.h"
#include "server/http/target.h"

namespace fairlock::http {

namespace {

constexpr std::string_view kBearer = "Bearer ";

// Compares in constant time. REQUIRES: `right` is not empty.
bool IsEqual(std::string_view given, std::string_view right) {
  unsigned difference = given.size() == right.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<unsigned char>(given[i] ^ right[i % right.size()]);
  }
  return difference == 0;
}

bool IsJson(std::string_view content_type) {
  return command::EqualsIgnoreCase(content_type.substr(0, content_type.find(';')),
                                   "application/json");
}

Answer RefusalOfLogIn(const protocol::Reply& error) {
  Answer refusal = RefusalOf(error);
  // Too many log-ins have failed or are being compared, so the password was not checked.
  if (error.text.starts_with("ERR ")) refusal.status = 429;
  return refusal;
}

// Whether at least one enabled user has a password.
bool HasPasswords(const command::AccessControl& control) {
  return std::ranges::any_of(control.users().users(), [](const auto& entry) {
    return entry.second.is_on && !entry.second.passwords.empty();
  });
}

// Decides who answers a request for a partition: nullopt if this node leads it.
std::optional<Outcome> ElsewhereOf(std::uint32_t partition, const command::ServerParts& server,
                                   bool needs_tls) {
  const command::Fleet* const fleet = server.environment.fleet;
  if (fleet == nullptr) return Refusal(404, "ERR", "this server is not a node of a fleet");
  const std::uint32_t partitions = fleet->Report().partitions;
  const std::string name = "partition " + std::to_string(partition);
  if (partition >= partitions) {
    return Refusal(404, "ERR",
                   "there is no " + name + ": the fleet has " + std::to_string(partitions));
  }
  const auto leader = fleet->LeaderOf(partition);
  if (!leader) {
    return Refusal(503, "CLUSTERDOWN", "no node leads " + name + "; try again in a moment");
  }
  if (leader->is_this_node) return std::nullopt;
  if (leader->http_port == 0) {
    return Refusal(503, "CLUSTERDOWN", "the leader of " + name + " has no http_port");
  }
  if (needs_tls && !leader->is_https) {
    return Refusal(503, "CLUSTERDOWN",
                   "the leader of " + name + " must have http_tls, as this node has");
  }
  return Elsewhere{.partition = partition,
                   .host = leader->host,
                   .port = leader->http_port,
                   .is_tls = leader->is_https};
}

// The methods that a path takes: those of the routes before, and this one.
std::string_view AllowedWith(std::string_view allowed, Verb verb) {
  if (verb == Verb::kLock || verb == Verb::kUnlock) return "LOCK, UNLOCK";
  if (!allowed.empty()) return "GET, HEAD, POST";
  return verb == Verb::kGet ? "GET, HEAD" : "POST";
}

// The key that the request is about.
std::string KeyOf(const Route& route, const Inputs& inputs) {
  const std::string* const key = inputs.Find("key");
  return route.key_prefix + (key != nullptr ? *key : std::string(inputs.Text("name")));
}

// Decides who answers a request about the key: nullopt if this node does.
std::optional<Outcome> ElsewhereOfKey(std::string_view key, const command::ServerParts& server,
                                      const ApiOptions& options) {
  const command::Fleet* const fleet = server.environment.fleet;
  if (fleet == nullptr) return std::nullopt;
  const std::uint32_t partitions = fleet->Report().partitions;
  if (partitions == 0) return std::nullopt;
  const std::uint32_t partition = command::PartitionOf(command::SlotOf(key), partitions);
  std::optional<Outcome> outcome = ElsewhereOf(partition, server, options.is_https);
  if (outcome) {
    if (auto* const elsewhere = std::get_if<Elsewhere>(&*outcome)) {
      elsewhere->wait_ms_max = options.wait_ms_max;
    }
  }
  return outcome;
}

// Returns all routes, in the order of their families.
std::vector<const Route*> AllRoutes() {
  std::vector<const Route*> routes;
  for (const auto& family : {StatusRoutes(), FigureRoutes(), LockRoutes(), HistoryRoutes(),
                             SteeringRoutes(), LockingRoutes()}) {
    for (const Route& route : family) routes.push_back(&route);
  }
  return routes;
}

}  // namespace

Api::Api(ApiOptions options, std::span<const Asset> assets, Figures& figures)
    : options_(std::move(options)), assets_(assets), figures_(figures), routes_(AllRoutes()) {}

Answer Api::AnswerWithAsset(const Asset& asset, const Request& request) const {
  Answer refusal;
  if (!IsFromHere(request, refusal)) return refusal;
  if (request.verb != Verb::kGet) {
    refusal = Refusal(405, "ERR", "this resource is read-only");
    refusal.allowed_verbs = "GET, HEAD";
    return refusal;
  }
  if (request.known_tag == asset.tag) return {.status = 304, .tag = asset.tag};
  return {.content_type = asset.content_type,
          .body = std::string(asset.bytes),
          .tag = asset.tag,
          .content_encoding = asset.content_encoding};
}

Outcome Api::Take(const Request& request, CommandCaller& commands, bool may_wait,
                  engine::TimeMs now) const {
  const std::optional<Target> target = ParseTarget(request.target);
  if (!target) return Refusal(400, "ERR", "the target is not a path with parameters");
  const std::string_view path =
      std::string_view(request.target).substr(0, request.target.find('?'));
  if (const Asset* asset = FindAsset(path)) return AnswerWithAsset(*asset, request);
  std::string_view allowed;
  for (const Route* route : routes_) {
    if (!FitsPath(*route, *target)) continue;
    if (route->verb == request.verb) {
      return TakeRoute(*route, request, *target, commands, may_wait, now);
    }
    allowed = AllowedWith(allowed, route->verb);
  }
  if (allowed.empty()) return Refusal(404, "ERR", "there is nothing at this path");
  Answer refusal = Refusal(405, "ERR", "this path takes " + std::string(allowed));
  refusal.allowed_verbs = allowed;
  return refusal;
}

Outcome Api::TakeRoute(const Route& route, const Request& request, const Target& target,
                       CommandCaller& commands, bool may_wait, engine::TimeMs now) const {
  Answer refusal;
  if (Admit(request, route.access, commands, refusal) == nullptr) return refusal;
  if (route.verb == Verb::kPost && !IsJson(request.content_type)) {
    return Refusal(415, "ERR", "the body must be JSON, with Content-Type: application/json");
  }
  const Inputs inputs = Inputs::Read(route, target, request.body);
  if (!inputs.error().empty()) return Refusal(400, "ERR", inputs.error());
  if (route.key_prefix != nullptr && !request.is_forwarded && !request.partition) {
    auto elsewhere = ElsewhereOfKey(KeyOf(route, inputs), commands.server(), options_);
    if (elsewhere) return *std::move(elsewhere);
  }
  if (request.partition) {
    auto elsewhere = ElsewhereOf(*request.partition, commands.server(), options_.is_https);
    if (elsewhere) return *std::move(elsewhere);
  }
  const LockingLimits limits{.wait_ms_max = options_.wait_ms_max,
                             .terraform_lease = options_.terraform_lease,
                             .has_room_to_wait = may_wait};
  return route.handler({.inputs = inputs,
                        .commands = commands,
                        .figures = figures_,
                        .routes = routes_,
                        .limits = limits,
                        .body = request.body,
                        .now = now});
}

bool Api::IsFromHere(const Request& request, Answer& refusal) const {
  if (!IsOurHost(request.host)) {
    refusal =
        Refusal(421, "ERR",
                "this server does not accept the host name " + command::Quoted(request.host, 64) +
                    "; option http_hosts lists the names it accepts");
    return false;
  }
  if (!request.origin.empty() && request.origin != "http://" + request.host &&
      request.origin != "https://" + request.host) {
    refusal = Refusal(403, "NOPERM", "requests from web pages on another origin are not allowed");
    return false;
  }
  return true;
}

bool Api::DependsOnCaller(const Request& request, CommandCaller& commands) const {
  Answer refusal;
  const std::optional<Target> target = ParseTarget(request.target);
  if (!target || !IsFromHere(request, refusal)) return false;
  return std::ranges::any_of(routes_, [&](const Route* route) {
    return route->verb == request.verb && FitsPath(*route, *target) &&
           AnybodysUser(request, route->access, commands) == nullptr;
  });
}

const access::User* Api::AnybodysUser(const Request& request, Access access,
                                      CommandCaller& commands) const {
  const command::AccessControl& control = commands.server().access;
  if (access == Access::kOpen) return &control.own_user();
  // Credentials that a node passes on to another one apply at both, even if everybody may read
  // there: a user with few permissions must not see more through another node.
  const bool travels = request.partition.has_value() || request.is_forwarded;
  if (travels && !request.authorization.empty()) return nullptr;
  // If clients must log in or have limited rights, requests without credentials are refused, so
  // that HTTP reveals no more than commands do.
  const access::User* newcomer = control.NewcomersUser();
  const bool may_all_do_all = newcomer != nullptr && newcomer->IsUnlimited();
  const bool may_read = access == Access::kRead && may_all_do_all && !options_.is_token_for_reading;
  return may_read ? newcomer : nullptr;
}

const access::User* Api::Admit(const Request& request, Access access, CommandCaller& commands,
                               Answer& refusal) const {
  if (!IsFromHere(request, refusal)) return nullptr;
  if (const access::User* user = AnybodysUser(request, access, commands)) return user;
  if (commands.log_in_error()) {
    refusal = RefusalOfLogIn(*commands.log_in_error());
    return nullptr;
  }
  // The permissions of the user are checked later, for each command.
  if (commands.has_logged_in()) return &commands.user();
  const command::AccessControl& control = commands.server().access;
  if (HasToken(request.authorization)) return &control.own_user();
  const bool may_anybody = !options_.token.empty() || HasPasswords(control);
  refusal = may_anybody
                ? Refusal(401, "NOAUTH",
                          "the Authorization header (Bearer TOKEN, or Basic with a user name and "
                          "password) is missing or wrong")
                : Refusal(403, "NOPERM",
                          "nobody may do this over HTTP: option http_token_file is not set, "
                          "and no user has a password");
  return nullptr;
}

bool Api::IsOurHost(std::string_view named) const {
  const std::optional<Host> host = ParseHost(named);
  if (!host) return false;
  // A name may come from a hostile DNS server; a numeric address cannot.
  return host->is_address || std::any_of(options_.host_names.begin(), options_.host_names.end(),
                                         [&](const std::string& ours) {
                                           return command::EqualsIgnoreCase(host->name, ours);
                                         });
}

bool Api::HasToken(std::string_view authorization) const {
  return !options_.token.empty() && authorization.starts_with(kBearer) &&
         IsEqual(authorization.substr(kBearer.size()), options_.token);
}

const Asset* Api::FindAsset(std::string_view path) const {
  const auto found = std::find_if(assets_.begin(), assets_.end(),
                                  [path](const Asset& asset) { return asset.path == path; });
  return found == assets_.end() ? nullptr : &*found;
}

}  // namespace fairlock::http
