#include "server/command/table/foreign_commands.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "server/command/table/nearest_word.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

struct Family {
  std::string_view names;  // each name has a space on both sides
  std::string_view instead;
};

constexpr auto kFamilies = std::to_array<Family>({
    {" HRANDFIELD HSTRLEN ",
     "fairlock is a lock server and has only the hash commands that locks need: HSET, HGET, HMGET, "
     "HINCRBY, HDEL and similar ones"},
    {" BLMPOP LMPOP ",
     "fairlock is a lock server and has only the list commands that locks need: LPUSH, LPOP, LREM, "
     "LMOVE, BLPOP and similar ones; LOCK with WAIT 30s waits in a queue"},
    {" SDIFF SDIFFSTORE SINTER SINTERCARD SINTERSTORE SMOVE SUNION SUNIONSTORE ",
     "fairlock is a lock server and has only the set commands that locks need: SADD, SREM, SPOP "
     "and similar ones; use LOCK with LIMIT, whose holders LOCKINFO shows"},
    {" BZMPOP BZPOPMAX BZPOPMIN ZDIFF ZDIFFSTORE ZINTER ZINTERCARD ZLEXCOUNT ZMPOP ZRANDMEMBER "
     "ZRANGEBYLEX ZRANGESTORE ZREMRANGEBYLEX ZREVRANGEBYLEX ZUNION ",
     "fairlock is a lock server and has only the sorted set commands that locks need: ZADD, ZREM, "
     "ZRANGE, ZRANK and similar ones; use LOCK with LIMIT, a semaphore"},
    {" XACK XADD XAUTOCLAIM XCLAIM XDEL XGROUP XINFO XLEN XPENDING XRANGE XREAD XREADGROUP "
     "XREVRANGE XSETID XTRIM ",
     "fairlock is a lock server and has no streams; use LOCK with WAIT 30s, or "
     "SUBSCRIBE"},
    {" APPEND BITCOUNT BITOP BITPOS GETBIT LCS SETBIT SETRANGE ",
     "fairlock is a lock server: a value is the owner of a lock and can only be written as a "
     "whole; use SET"},
    {" SUBSTR ", "use GETRANGE, which returns the same"},
    {" OBJECT ", "fairlock is a lock server and has no encodings; use TYPE, TTL or LOCKINFO"},
    {" SORT SORT_RO ",
     "fairlock is a lock server and has nothing to sort; use SCAN or LOCKS for a list of locks"},
    {" COPY DUMP MIGRATE MOVE RENAME RENAMENX RESTORE ",
     "fairlock is a lock server: a lock stays under its key; use TRANSFER, or UNLOCK and LOCK"},
    {" GEOADD GEODIST GEOHASH GEOPOS GEORADIUS GEORADIUSBYMEMBER GEORADIUSBYMEMBER_RO GEORADIUS_RO "
     "GEOSEARCH GEOSEARCHSTORE PFADD PFCOUNT PFMERGE ",
     "fairlock is a lock server and keeps no data; use a data store"},
    {" FCALL FCALL_RO FUNCTION MODULE ", "fairlock is a lock server; use EVAL"},
    {" BGREWRITEAOF BGSAVE LASTSAVE SAVE SYNC PSYNC REPLICAOF REPLCONF SLAVEOF ",
     "fairlock persists its locks itself, as set by `durability`; use BACKUP to make a copy"},
    {" SENTINEL ",
     "a node of a fleet answers it on a port of its own (sentinel_port); a single server needs no "
     "Sentinel"},
    {" LATENCY MEMORY SLOWLOG ", "fairlock has no such statistics; use INFO, STATS or HISTORY"},
});

// A name that other lock services and libraries use, and the command here that it corresponds to.
struct OtherName {
  std::string_view name;
  std::string_view command;
};

constexpr auto kOtherNames = std::to_array<OtherName>({
    {"ACQUIRE", "LOCK"},
    {"TRYLOCK", "LOCK"},
    {"TAKE", "LOCK"},
    {"RELEASE", "UNLOCK"},
    {"FREE", "UNLOCK"},
    {"EXTEND", "RENEW"},
    {"REFRESH", "RENEW"},
    {"PROLONG", "RENEW"},
    {"KEEPALIVE", "RENEW"},
    {"HEARTBEAT", "RENEW"},
    {"HOLDER", "LOCKINFO"},
    {"HOLDERS", "LOCKINFO"},
    {"WAITERS", "QUEUE"},
});

bool IsAmong(std::span<const std::string_view> names, std::string_view word) {
  return std::ranges::any_of(names,
                             [&](std::string_view name) { return EqualsIgnoreCase(word, name); });
}

}  // namespace

std::string_view InsteadOf(std::string_view command) {
  constexpr std::size_t kNameBytesMax = 32;
  std::array<char, kNameBytesMax + 2> word;
  if (command.empty() || command.size() > kNameBytesMax) return {};
  word.front() = ' ';
  std::transform(command.begin(), command.end(), word.begin() + 1, ToUpper);
  word[command.size() + 1] = ' ';
  const std::string_view name(word.data(), command.size() + 2);
  if (name.find(' ', 1) != name.size() - 1) return {};
  for (const Family& family : kFamilies) {
    if (family.names.find(name) != std::string_view::npos) return family.instead;
  }
  return {};
}

std::string_view CommandMeantBy(const CommandTable& table, std::string_view command) {
  for (const OtherName& other : kOtherNames) {
    if (EqualsIgnoreCase(command, other.name)) return other.command;
  }
  NearestWord nearest(command);
  for (const CommandSpec* spec : table.rows()) {
    if (!IsSubcommand(*spec)) nearest.Try(spec->name);
  }
  return nearest.found();
}

std::string_view SubcommandMeantBy(const CommandTable& table, const CommandSpec& container,
                                   std::string_view subcommand) {
  NearestWord nearest(subcommand);
  for (const CommandSpec* spec : table.SubcommandsOf(container)) {
    nearest.Try(spec->name.substr(container.name.size() + 1));
  }
  return nearest.found();
}

bool IsOfClusters(std::string_view command) {
  return IsAmong(std::to_array<std::string_view>({"READONLY", "READWRITE", "ASKING"}), command);
}

bool IsOfClusters(std::string_view container, std::string_view subcommand) {
  constexpr auto kNames = std::to_array<std::string_view>({"ADDSLOTS",
                                                           "ADDSLOTSRANGE",
                                                           "BUMPEPOCH",
                                                           "COUNT-FAILURE-REPORTS",
                                                           "COUNTKEYSINSLOT",
                                                           "DELSLOTS",
                                                           "DELSLOTSRANGE",
                                                           "FLUSHSLOTS",
                                                           "FORGET",
                                                           "GETKEYSINSLOT",
                                                           "INFO",
                                                           "KEYSLOT",
                                                           "LINKS",
                                                           "MEET",
                                                           "MIGRATION",
                                                           "MYID",
                                                           "MYSHARDID",
                                                           "NODES",
                                                           "REPLICAS",
                                                           "REPLICATE",
                                                           "RESET",
                                                           "SAVECONFIG",
                                                           "SET-CONFIG-EPOCH",
                                                           "SETSLOT",
                                                           "SHARDS",
                                                           "SLAVES",
                                                           "SLOT-STATS",
                                                           "SLOTS"});
  return EqualsIgnoreCase(container, "CLUSTER") && IsAmong(kNames, subcommand);
}

}  // namespace fairlock::command
