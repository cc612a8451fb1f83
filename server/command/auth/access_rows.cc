#include "server/command/auth/access_rows.h"

#include <algorithm>
#include <array>

#include "server/command/table/lock_option_words.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

constexpr auto kRows = std::to_array<AccessRow>({
    {"LOCK", OwnerPlace::kSecond, Reach::kNotify},
    {"UNLOCK", OwnerPlace::kSecond},
    {"RENEW", OwnerPlace::kSecond},
    {"CANCEL", OwnerPlace::kSecond},
    {"TRANSFER", OwnerPlace::kSecondAndThird},
    {"MLOCK", OwnerPlace::kBehindKeys, Reach::kNotify},
    {"MRENEW", OwnerPlace::kBehindKeys},
    {"MUNLOCK", OwnerPlace::kBehindKeys},
    {"SET", OwnerPlace::kSecond},
    {"SETNX", OwnerPlace::kSecond},
    {"GETSET", OwnerPlace::kSecond},
    {"DELIFEQ", OwnerPlace::kSecond},
    {"SETEX", OwnerPlace::kThird},
    {"PSETEX", OwnerPlace::kThird},
    {"MSET", OwnerPlace::kBehindEachKey},
    {"MSETEX", OwnerPlace::kBehindEachKey},
    {"MSETNX", OwnerPlace::kBehindEachKey},
    {"INCR", OwnerPlace::kComputed},
    {"DECR", OwnerPlace::kComputed},
    {"INCRBY", OwnerPlace::kComputed},
    {"DECRBY", OwnerPlace::kComputed},
    {"INCRBYFLOAT", OwnerPlace::kComputed},
    {"BITFIELD", OwnerPlace::kComputed},
    {"HISTORY", OwnerPlace::kNone, Reach::kKeyOrAll},
    {"FLUSHDB", OwnerPlace::kNone, Reach::kAllKeys},
    {"FLUSHALL", OwnerPlace::kNone, Reach::kAllKeys},
    {"LIMIT|SET", OwnerPlace::kNone, Reach::kAllKeys},
    {"LIMIT|DEL", OwnerPlace::kNone, Reach::kAllKeys},
    {"LIMIT|LIST", OwnerPlace::kNone, Reach::kAllKeys},
    {"MONITOR", OwnerPlace::kNone, Reach::kAllKeys},
    {"CLIENT|LIST", OwnerPlace::kNone, Reach::kAllKeys},
    {"CLIENT|KILL", OwnerPlace::kNone, Reach::kAllKeys},
    {"CLIENT|UNBLOCK", OwnerPlace::kNone, Reach::kAllKeys},
    {"STATS", OwnerPlace::kNone, Reach::kAllKeys},
    {"DBSIZE", OwnerPlace::kNone, Reach::kAllKeys},
    {"BACKUP", OwnerPlace::kNone, Reach::kAllKeys},
    {"SHUTDOWN", OwnerPlace::kNone, Reach::kAllKeys},
    {"CLUSTER|FAILOVER", OwnerPlace::kNone, Reach::kAllKeys},
    {"CLUSTER|ACCEPT-RESTORE", OwnerPlace::kNone, Reach::kAllKeys},
    {"PUBLISH", OwnerPlace::kNone, Reach::kFirstChannel},
    {"SPUBLISH", OwnerPlace::kNone, Reach::kFirstChannel},
    {"SUBSCRIBE", OwnerPlace::kNone, Reach::kChannels},
    {"SSUBSCRIBE", OwnerPlace::kNone, Reach::kShardChannels},
    {"PSUBSCRIBE", OwnerPlace::kNone, Reach::kPatterns},
});

constexpr auto kLeaseWords = std::to_array<std::string_view>({"EX", "PX", "EXAT", "PXAT"});

bool IsLeaseWord(std::string_view word) {
  return std::ranges::any_of(kLeaseWords,
                             [&](std::string_view other) { return EqualsIgnoreCase(word, other); });
}

bool HasValue(std::string_view word) {
  return std::ranges::any_of(kLockOptionWords, [&](const LockOptionWord& option) {
    return option.has_value && EqualsIgnoreCase(word, option.word);
  });
}

}  // namespace

std::span<const AccessRow> AccessRows() { return kRows; }

bool IsSetNew(std::span<const std::string_view> request) {
  for (std::size_t i = 3; i < request.size(); ++i) {
    if (EqualsIgnoreCase(request[i], "NX")) return true;
    if (IsLeaseWord(request[i])) ++i;
  }
  return false;
}

std::string_view FindNotifyChannel(std::span<const std::string_view> request, std::size_t first) {
  for (std::size_t i = first; i < request.size(); ++i) {
    if (EqualsIgnoreCase(request[i], "NOTIFY")) return i + 1 < request.size() ? request[i + 1] : "";
    if (HasValue(request[i])) ++i;
  }
  return "";
}

}  // namespace fairlock::command
