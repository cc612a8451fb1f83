// Tells the permission check which owners and channels a request names. The command table says
// which keys it names.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fairlock::command {

// Where a request names the owner that it acts for.
enum class OwnerPlace : std::uint8_t {
  kNone,
  kSecond,          // after the key
  kSecondAndThird,  // TRANSFER: both the second and the third argument
  kThird,           // SETEX: after the key and the lease
  kBehindKeys,      // after a counted list of keys: as many owners as there are keys
  kBehindEachKey,
  kComputed  // INCR: the server computes the owner, so it may be any owner
};

enum class Reach : std::uint8_t {
  kKeys,          // the keys that the command table gives
  kAllKeys,       // all keys of the database
  kKeyOrAll,      // one key, or all keys if the argument is `*`
  kFirstChannel,  // the first argument is a channel, in addition to the keys
  kChannels,      // every argument is a channel
  kShardChannels,
  kPatterns,  // every argument is a glob of channels
  kNotify     // the channel after the option NOTIFY, if that is given
};

struct AccessRow {
  std::string_view command;
  OwnerPlace owners = OwnerPlace::kNone;
  Reach reach = Reach::kKeys;
};

// A command without a row names no owner, and its keys are those that the command table gives.
std::span<const AccessRow> AccessRows();

// `SET key value NX` takes a lock for the owner that it names, as SETNX does, and unlike other SETs
// it is not @unowned. User rules therefore treat it as a separate command with this name.
inline constexpr std::string_view kSetNewName = "set|nx";
// Whether a SET has NX among its options.
bool IsSetNew(std::span<const std::string_view> request);

// Returns the channel after NOTIFY among the options of LOCK, which begin at `first`; empty if
// there is none.
std::string_view FindNotifyChannel(std::span<const std::string_view> request, std::size_t first);

}  // namespace fairlock::command
