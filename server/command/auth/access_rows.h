// What of a request, besides its keys, the permissions of users are about.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fairlock::command {

// Where a request names the owner for whom it acts.
enum class OwnerPlace : std::uint8_t {
  kNone,
  kSecond,          // behind the key
  kSecondAndThird,  // TRANSFER: both
  kThird,           // SETEX: behind key and lease
  kBehindKeys,      // as many keys as the first argument says
  kBehindEachKey,
  kComputed  // INCR: the server makes it, so any owner may come out
};

enum class Reach : std::uint8_t {
  kKeys,          // those that the table tells
  kAllKeys,       // all that there are
  kKeyOrAll,      // `*` means all
  kFirstChannel,  // besides keys: the first argument is a channel
  kChannels,      // all are
  kShardChannels,
  kPatterns,  // all are globs of channels
  kNotify     // that of the option NOTIFY, if it is given
};

struct AccessRow {
  std::string_view command;
  OwnerPlace owners = OwnerPlace::kNone;
  Reach reach = Reach::kKeys;
};

// For commands without a row: no owner, and the keys that the table tells.
std::span<const AccessRow> AccessRows();

// `SET key value NX` takes a lock for the owner that it names, as SETNX, and is not @unowned as
// other SETs are. So it is a command of its own to the rules of users, by this name.
inline constexpr std::string_view kSetNewName = "set|nx";
// Whether a SET has NX among its options.
bool IsSetNew(std::span<const std::string_view> request);

// Whether a WAIT is Redis' own, for replicas: two whole numbers, of which none is a key.
bool IsWaitForReplicas(std::span<const std::string_view> request);

// The channel that stands behind NOTIFY among the options of LOCK, which begin at `first`; none:
// empty.
std::string_view FindNotifyChannel(std::span<const std::string_view> request, std::size_t first);

}  // namespace fairlock::command
