#include "server/command/foreign_commands.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "server/command/text.h"

namespace fairlock::command {

namespace {

struct Family {
  std::string_view names;  // with blanks around each
  std::string_view instead;
};

constexpr auto kFamilies = std::to_array<Family>({
    {" HDEL HEXISTS HGET HGETALL HINCRBY HINCRBYFLOAT HKEYS HLEN HMGET HMSET HRANDFIELD HSCAN HSET "
     "HSETNX HSTRLEN HVALS ",
     "fairlock is a lock server and has no hashes; META of LOCK, for what belongs to a lock, would "
     "be right"},
    {" BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH LINDEX LINSERT LLEN LMOVE LMPOP LPOP LPOS LPUSH LPUSHX "
     "LRANGE LREM LSET LTRIM RPOP RPOPLPUSH RPUSH RPUSHX ",
     "fairlock is a lock server and has no lists; LOCK with WAIT, whose waiters stand in line, "
     "would be right"},
    {" SADD SCARD SDIFF SDIFFSTORE SINTER SINTERCARD SINTERSTORE SISMEMBER SMEMBERS SMISMEMBER "
     "SMOVE SPOP SRANDMEMBER SREM SSCAN SUNION SUNIONSTORE ",
     "fairlock is a lock server and has no sets; LOCK with LIMIT, whose holders LOCKINFO tells, "
     "would be right"},
    {" BZMPOP BZPOPMAX BZPOPMIN ZADD ZCARD ZCOUNT ZDIFF ZDIFFSTORE ZINCRBY ZINTER ZINTERCARD "
     "ZINTERSTORE ZLEXCOUNT ZMPOP ZMSCORE ZPOPMAX ZPOPMIN ZRANDMEMBER ZRANGE ZRANGEBYLEX "
     "ZRANGEBYSCORE ZRANGESTORE ZRANK ZREM ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE "
     "ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE ZUNION ZUNIONSTORE ",
     "fairlock is a lock server and has no sorted sets; LOCK with LIMIT, a semaphore, would be "
     "right"},
    {" XACK XADD XAUTOCLAIM XCLAIM XDEL XGROUP XINFO XLEN XPENDING XRANGE XREAD XREADGROUP "
     "XREVRANGE XSETID XTRIM ",
     "fairlock is a lock server and has no streams; LOCK with WAIT, or SUBSCRIBE, would be right"},
    {" APPEND BITCOUNT BITFIELD BITFIELD_RO BITOP BITPOS GETBIT INCRBYFLOAT LCS MSET SETBIT "
     "SETRANGE ",
     "fairlock is a lock server: a value is the owner of a lock and is written whole; SET would be "
     "right"},
    {" SUBSTR ", "GETRANGE, which tells the same, would be right"},
    {" GETEX ", "fairlock is a lock server; GET, and EXPIRE or PERSIST, would be right"},
    {" OBJECT ",
     "fairlock is a lock server and has no encodings; TYPE, TTL or LOCKINFO would be right"},
    {" SORT SORT_RO ",
     "fairlock is a lock server and has nothing to sort; SCAN or LOCKS, for a list of locks, would "
     "be right"},
    {" COPY DUMP MIGRATE MOVE RENAME RENAMENX RESTORE ",
     "fairlock is a lock server: a lock stays under its key; TRANSFER, or UNLOCK and LOCK, would "
     "be right"},
    {" GEOADD GEODIST GEOHASH GEOPOS GEORADIUS GEORADIUSBYMEMBER GEORADIUSBYMEMBER_RO GEORADIUS_RO "
     "GEOSEARCH GEOSEARCHSTORE PFADD PFCOUNT PFMERGE ",
     "fairlock is a lock server and keeps no data; a store of data would be right"},
    {" FCALL FCALL_RO FUNCTION MODULE ", "fairlock is a lock server; EVAL would be right"},
    {" BGREWRITEAOF BGSAVE LASTSAVE SAVE SYNC PSYNC REPLICAOF REPLCONF SLAVEOF ",
     "fairlock keeps its locks by itself, as `durability` says; BACKUP would be right"},
    {" LATENCY MEMORY SLOWLOG ",
     "fairlock has no such figures; INFO, STATS or HISTORY would be right"},
});

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

bool IsOfClusters(std::string_view command) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"CLUSTER", "READONLY", "READWRITE", "ASKING"});
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view name) { return EqualsIgnoreCase(command, name); });
}

}  // namespace fairlock::command
