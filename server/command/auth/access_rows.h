// Which owners and channels a request names, for the permission check. Keys are in the table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fairlock::command {

// Where a request names the owner that it acts for.
enum class OwnerPlace : std::uint8_t {
  kNone,
  kSecond,          // after the key
  kSecondAndThird,  // TRANSFER: both
  kThird,           // SETEX: after key and lease
  kBehindKeys,      // after a counted list of keys: as many owners as there are keys
  kBehindEachKey,
  kComputed  // INCR: the server computes the owner, so it may be any
};

enum class Reach : std::uint8_t {
  kKeys,          // those given by the command table
  kAllKeys,       // all keys of the database
  kKeyOrAll,      // `*` means all
  kFirstChannel,  // the first argument is a channel, in addition to the keys
  kChannels,      // every argument is a channel
  kShardChannels,
  kPatterns,  // every argument is a glob of channels
  kNotify     // the channel after the option NOTIFY, if given
};

struct AccessRow {
  std::string_view command;
  OwnerPlace owners = OwnerPlace::kNone;
  Reach reach = Reach::kKeys;
};

// A command without a row names no owner, and its keys are those given by the command table.
std::span<const AccessRow> AccessRows();

// `SET key value NX` takes a lock for the owner that it names, as SETNX does, and is not @unowned
// as other SETs are. User rules therefore treat it as a separate command with this name.
inline constexpr std::string_view kSetNewName = "set|nx";
// Whether a SET has NX among its options.
bool IsSetNew(std::span<const std::string_view> request);

// Whether a WAIT is Redis' own, which waits for replicas: two whole numbers, neither of them a key.
bool IsWaitForReplicas(std::span<const std::string_view> request);

// The channel after NOTIFY among the options of LOCK, which begin at `first`; empty if there is
// none.
std::string_view FindNotifyChannel(std::span<const std::string_view> request, std::size_t first);

}  // namespace fairlock::command
