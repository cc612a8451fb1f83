#include "server/command/auth/log_ins.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "server/command/auth/access_control.h"
#include "server/command/client/client.h"
#include "server/command/client/client_registry.h"
#include "server/command/delivery/awaited_replies.h"
#include "server/command/environment/environment.h"
#include "server/command/statistics/statistics.h"
#include "server/command/table/text.h"

namespace fairlock::command {

using protocol::ErrorCode;

LogIns::LogIns(const Environment& environment, const AccessControl& access, Sessions& sessions,
               ClientRegistry& clients, AwaitedReplies& replies, Statistics& statistics)
    : environment_(environment),
      access_(access),
      sessions_(sessions),
      clients_(clients),
      replies_(replies),
      statistics_(statistics) {}

void LogIns::Begin(const LogInRequest& request, Client& client, bool may_wait,
                   protocol::ReplyWriter& reply, engine::TimeMs now) {
  const std::string& address = client.profile.address.peer;
  const engine::DurationMs wait_ms = failures_.WaitOf(address, now);
  if (wait_ms > 0) {
    // Refuses even a correct password; otherwise the reply would reveal which password is correct.
    return reply.Error(ErrorCode::kErr,
                       "too many log-ins from this address have failed "
                       "(max_failed_log_ins); try again in " +
                           std::to_string((wait_ms + 999) / 1000) + " s");
  }
  const access::User* user = access_.users().Find(request.user);
  if (user != nullptr && !user->is_on) user = nullptr;
  if (user != nullptr && user->needs_no_password && client.rights.must_prove_itself())
    user = nullptr;
  if (user != nullptr && known_.Match(*user, request.password)) {
    return Accept(client, *user, request.greeting);
  }
  BeginSlowly(request, user, client, may_wait, reply, now);
}

void LogIns::BeginSlowly(const LogInRequest& request, const access::User* user, Client& client,
                         bool may_wait, protocol::ReplyWriter& reply, engine::TimeMs now) {
  Comparison comparison;
  comparison.user = request.user;
  if (user != nullptr) {
    for (const access::StoredPassword& stored : user->passwords) {
      if (!stored.digest) comparison.stored.push_back(stored.rule);
    }
  }
  // If there is no slow hash, compares with a decoy, so that the response time does not reveal
  // which users exist.
  const std::string& decoy = access_.users().decoy();
  if (comparison.stored.empty() && !decoy.empty()) comparison.stored.push_back(decoy);
  if (comparison.stored.empty()) return Refuse(client, request.user, reply, now);
  if (!may_wait) {
    return reply.Error(ErrorCode::kErr,
                       "a log-in between MULTI and EXEC needs a password that the server has "
                       "verified before; log in before MULTI");
  }
  for (const std::string& stored : comparison.stored) {
    comparison.digests.push_back(known_.DigestOf(stored, request.password));
  }
  if (!BeginComparison(std::move(comparison), request.password, client.profile, now)) {
    return reply.Error(ErrorCode::kErr,
                       "too many passwords are being checked at the moment; try again shortly");
  }
  client.wait.BeginLogIn({.user = std::string(request.user), .greeting = request.greeting},
                         statistics_.gauges);
}

bool LogIns::BeginComparison(Comparison comparison, std::string_view password,
                             const ClientProfile& client, engine::TimeMs now) {
  const std::uint64_t client_id = client.id;
  // A comparison is shared only between log-ins of one user; otherwise sharing it would reveal
  // which users have the same hashes.
  const auto same = std::ranges::find_if(under_way_, [&](const auto& entry) {
    return entry.second.user == comparison.user && entry.second.stored == comparison.stored &&
           entry.second.digests == comparison.digests;
  });
  if (same != under_way_.end()) {
    same->second.clients.push_back(client_id);
    return true;
  }
  const std::uint64_t id = last_comparison_id_ + 1;
  UserDirectory* const users = environment_.users;
  const bool has_begun =
      users != nullptr && users->StartPasswordCheck(
                              {.stored = comparison.stored, .password = std::string(password)}, id);
  if (!has_begun) return false;
  last_comparison_id_ = id;
  // The attempt counts as a failure while the comparison runs; otherwise a burst of attempts could
  // start before the first one fails.
  failures_.Add(client.address.peer, now);
  comparison.clients.push_back(client_id);
  under_way_.emplace(id, std::move(comparison));
  return true;
}

void LogIns::Finish(std::uint64_t comparison_id, std::optional<std::size_t> match,
                    engine::TimeMs now) {
  const auto ended = under_way_.extract(comparison_id);
  if (ended.empty()) return;
  const Comparison& comparison = ended.mapped();
  for (const std::uint64_t client_id : comparison.clients) {
    Client* client = clients_.Find(client_id);
    if (client != nullptr) End(*client, comparison, match, now);
  }
}

void LogIns::End(Client& client, const Comparison& comparison, std::optional<std::size_t> match,
                 engine::TimeMs now) {
  if (client.is_detached || client.wait.kind() != WaitKind::kLogIn) return;
  client.wait.End(statistics_.gauges);
  const auto pending = client.wait.TakeLogIn();
  const bool has_begun_it = client.profile.id == comparison.clients.front();
  if (has_begun_it) failures_.TakeBack(client.profile.address.peer);
  // The users may have changed while the comparison ran.
  const access::User* user = access_.users().Find(pending->user);
  const bool is_right =
      user != nullptr && user->is_on && match &&
      std::ranges::any_of(user->passwords, [&](const access::StoredPassword& stored) {
        return stored.rule == comparison.stored[*match];
      });
  if (is_right) {
    known_.Remember(comparison.stored[*match], comparison.digests[*match]);
    Accept(client, *user, pending->greeting);
  } else {
    protocol::ReplyWriter reply = client.writer();
    Refuse(client, pending->user, reply, now);
    replies_.CountError(client, reply);
  }
  client.transport.NoticeOutput();
}

void LogIns::Accept(Client& client, const access::User& user,
                    const std::optional<Greeting>& greeting) {
  sessions_.LogIn(client, user);
  if (greeting) {
    Greet(client, clients_, *greeting, environment_);
  } else {
    client.writer().Ok();
  }
}

void LogIns::Refuse(const Client& client, std::string_view user, protocol::ReplyWriter& reply,
                    engine::TimeMs now) {
  const std::string& address = client.profile.address.peer;
  failures_.Add(address, now);
  ++statistics_.counters.failed_log_ins;
  environment_.log.LogFailedLogIn(address, user);
  reply.Error(ErrorCode::kWrongPass, "invalid username-password pair or user is disabled.");
}

namespace {

std::string_view ModeOf(bool is_sentinel, FleetDialect dialect) {
  if (is_sentinel) return "sentinel";
  return dialect == FleetDialect::kCluster ? "cluster" : "standalone";
}

}  // namespace

void Greet(Client& client, ClientRegistry& clients, const Greeting& greeting,
           const Environment& environment) {
  if (greeting.name) clients.Rename(client, *greeting.name);
  if (greeting.version) client.profile.version = *greeting.version;
  protocol::ReplyWriter reply = client.writer();
  const auto field = [&](std::string_view name, std::string_view text) {
    reply.Bulk(name);
    reply.Bulk(text);
  };
  FleetReport fleet;
  fleet.role = FleetRole::kLeader;  // as which a single server counts
  if (environment.fleet != nullptr) fleet = environment.fleet->Report();
  const bool is_sentinel = client.profile.is_at_sentinel_port;
  reply.MapHeader(is_sentinel ? 6 : 7);
  // `server` names the product whose version `version` is. INFO names the real server.
  field("server", "redis");
  field("version", kRedisVersion);
  reply.Bulk("proto");
  reply.Integer(static_cast<int>(client.profile.version));
  reply.Bulk("id");
  reply.Integer(static_cast<std::int64_t>(client.profile.id));
  field("mode", ModeOf(is_sentinel, fleet.dialect));
  // As in Redis, a Sentinel reports no role.
  if (!is_sentinel) field("role", fleet.role == FleetRole::kLeader ? "master" : "replica");
  reply.Bulk("modules");
  reply.ArrayHeader(0);
}

bool KnownPasswords::Match(const access::User& user, std::string_view password) const {
  if (user.needs_no_password) return true;
  const access::Digest digest = access::DigestOf(password);
  return std::ranges::any_of(user.passwords, [&](const access::StoredPassword& stored) {
    if (stored.digest) return access::AreEqual(*stored.digest, digest);
    const auto known = digests_.find(stored.rule);
    return known != digests_.end() &&
           access::AreEqual(known->second, DigestOf(stored.rule, password));
  });
}

access::Digest KnownPasswords::DigestOf(std::string_view slow_hash,
                                        std::string_view password) const {
  return key_.Of({slow_hash, password});
}

void KnownPasswords::Remember(const std::string& slow_hash, const access::Digest& digest) {
  digests_.insert_or_assign(slow_hash, digest);
}

void KnownPasswords::ForgetOthers(const access::UserTable& users) {
  std::set<std::string_view> stored_now;
  for (const auto& [name, user] : users.users()) {
    for (const access::StoredPassword& stored : user.passwords) stored_now.insert(stored.rule);
  }
  std::erase_if(digests_, [&](const auto& entry) { return !stored_now.contains(entry.first); });
}

void Sessions::LogIn(Client& client, const access::User& user) {
  client.rights.LogIn(user);
  newcomers_.Remove(client);
  client.profile.user = user.name;
  engine_.clients().SetUser(client.client, user.name);
}

bool Sessions::LogInAs(Client& client, std::string_view name) {
  const access::User* user = access_.users().Find(name);
  if (user == nullptr || !user->is_on) return false;
  LogIn(client, *user);
  return true;
}

void Sessions::LogOut(Client& client) {
  if (const access::User* newcomer = access_.NewcomersUser()) return LogIn(client, *newcomer);
  client.rights.LogOut();
  client.profile.user = access::kDefaultUser;
  newcomers_.Add(client, client.profile.active_at);
  engine_.clients().SetUser(client.client, client.profile.user);
}

void Sessions::Deauthenticate(Client& client) {
  client.rights.LogOut();
  client.transport.CloseNow();
}

}  // namespace fairlock::command
