// The value types of the lock engine: tokens, names, limits, and reasons for a denial.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "rows/lock_rows.h"
#include "server/engine/containers/time.h"

namespace fairlock::engine {

// The longest lease that a client may request: 365 days.
inline constexpr DurationMs kLeaseMsMax = 365LL * 24 * 3600 * 1000;

// The fencing token of a hold: 1 to 2^53 - 1, strictly increasing across all keys of the server.
using Token = std::uint64_t;
inline constexpr Token kTokenMax = (Token{1} << 53) - 1;

inline constexpr std::size_t kKeyBytesMax = 1024;
inline constexpr std::size_t kOwnerBytesMax = 8192;
inline constexpr std::size_t kMetaBytesMax = 4096;
inline constexpr std::size_t kLabelBytesMax = 64;
inline constexpr std::size_t kReasonBytesMax = 256;
inline constexpr std::uint32_t kDatabases = 16;
inline constexpr std::size_t kMlockKeysMax = 64;
inline constexpr std::uint32_t kLimitMax = 1'000'000'000;

// The name of a lock: a database (0 to 15) and 1 to 1024 bytes.
struct KeyName {
  std::uint8_t db = 0;
  std::string_view bytes = {};
  std::uint64_t hash = 0;  // as LockEngine::Prefetch returned it; 0: not computed yet

  friend bool operator==(const KeyName& a, const KeyName& b) {
    return a.bytes == b.bytes && a.db == b.db;
  }
};

// Why a request is not granted now.
enum class DenialReason : std::uint8_t {
  kNone,
  kHeld,      // no slot is free
  kLine,      // a slot is free, but other places are ahead in the queue
  kReserved,  // the slot is reserved for the head of the queue, which is absent
  kCooling,   // the MINHOLD of an earlier hold is not over
  kShared,    // the holders are SHARED and the request is exclusive, or the reverse
  kFull,      // the queue has reached the request's MAXWAITERS
  kDrained,   // an operator's override of LIMIT admits no new owner
  kStarting,  // shortly after a start: leases unknown to the server may still be running
  kDeadlock,  // the request would wait forever
  kLeaving,   // the owner's own hold ends soon by BREAK with GRACE, and nothing lengthens it
};

// Whether a request or the passing of time ended something.
enum class Cause : std::uint8_t { kRequest, kTime };

using rows::Mode;
using rows::Terms;

}  // namespace fairlock::engine
