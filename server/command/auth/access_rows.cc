#include "server/command/auth/access_rows.h"

#include <algorithm>
#include <array>

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
    {"SETEX", OwnerPlace::kThird},
    {"PSETEX", OwnerPlace::kThird},
    {"MSETNX", OwnerPlace::kBehindEachKey},
    {"INCR", OwnerPlace::kComputed},
    {"DECR", OwnerPlace::kComputed},
    {"INCRBY", OwnerPlace::kComputed},
    {"DECRBY", OwnerPlace::kComputed},
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
    {"PUBLISH", OwnerPlace::kNone, Reach::kFirstChannel},
    {"SPUBLISH", OwnerPlace::kNone, Reach::kFirstChannel},
    {"SUBSCRIBE", OwnerPlace::kNone, Reach::kChannels},
    {"SSUBSCRIBE", OwnerPlace::kNone, Reach::kShardChannels},
    {"PSUBSCRIBE", OwnerPlace::kNone, Reach::kPatterns},
});

constexpr auto kLeaseWords = std::to_array<std::string_view>({"EX", "PX", "EXAT", "PXAT"});
constexpr auto kLockOptionsWithValue = std::to_array<std::string_view>(
    {"EX", "PX", "WAIT", "KEEP", "LIMIT", "GRACE", "MINHOLD", "MAXWAITERS", "META", "LABEL"});

template <typename Words>
bool IsOneOf(const Words& words, std::string_view word) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view other) { return EqualsIgnoreCase(word, other); });
}

}  // namespace

std::span<const AccessRow> AccessRows() { return kRows; }

bool IsSetNew(std::span<const std::string_view> request) {
  for (std::size_t i = 3; i < request.size(); ++i) {
    if (EqualsIgnoreCase(request[i], "NX")) return true;
    if (IsOneOf(kLeaseWords, request[i])) ++i;
  }
  return false;
}

bool IsWaitForReplicas(std::span<const std::string_view> request) {
  return request.size() == 3 && ParseInteger(request[1]) && ParseInteger(request[2]);
}

std::string_view FindNotifyChannel(std::span<const std::string_view> request, std::size_t first) {
  for (std::size_t i = first; i < request.size(); ++i) {
    if (EqualsIgnoreCase(request[i], "NOTIFY")) return i + 1 < request.size() ? request[i + 1] : "";
    if (IsOneOf(kLockOptionsWithValue, request[i])) ++i;
  }
  return "";
}

}  // namespace fairlock::command
