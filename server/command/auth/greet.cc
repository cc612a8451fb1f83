#include "server/command/auth/greet.h"

#include <cstdint>
#include <string_view>

#include "server/command/table/redis_version.h"

namespace fairlock::command {

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

}  // namespace fairlock::command
