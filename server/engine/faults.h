// Deliberate faults, compiled in only with FAIRLOCK_FAULTS, that show that the simulator finds what
// it should.
#pragma once

#include <array>
#include <string_view>

namespace fairlock::engine {

enum class Fault {
  kNone,
  kBarging,              // a newcomer takes free room although others wait
  kDoubleGrant,          // a request is granted although there is no room
  kLostWaiter,           // a release forgets to look at the line
  kTokenReuse,           // now and then a grant gets the token of the one before
  kEarlyExpiry,          // a lease ends one millisecond early
  kLateExpiry,           // a command does not settle the key it names
  kLifo,                 // a waiter joins at the head of the line
  kForeignUnlock,        // UNLOCK does not compare the owner
  kRenewShortens,        // RENEW keeps the old end
  kRepeatShortens,       // a repeated LOCK shortens the lease
  kLostTimeout,          // a WAIT limit is never reported
  kGhostPlace,           // a place stays when its connection closes
  kLimitIgnoresHolders,  // a request counts only its own LIMIT, not that of present holds
  kSilentSupersede,      // the earlier request of an owner is not answered
  kWatchTooEarly,        // WAIT key is answered by the end of any hold
};

inline constexpr std::array<std::string_view, 16> kFaultNames = {"none",
                                                                 "barging",
                                                                 "double-grant",
                                                                 "lost-waiter",
                                                                 "token-reuse",
                                                                 "early-expiry",
                                                                 "late-expiry",
                                                                 "lifo",
                                                                 "foreign-unlock",
                                                                 "renew-shortens",
                                                                 "repeat-shortens",
                                                                 "lost-timeout",
                                                                 "ghost-place",
                                                                 "limit-ignores-holders",
                                                                 "silent-supersede",
                                                                 "watch-too-early"};

#ifdef FAIRLOCK_FAULTS
inline Fault active_fault = Fault::kNone;
inline bool IsFaulty(Fault fault) { return active_fault == fault; }
#else
constexpr bool IsFaulty(Fault) { return false; }
#endif

}  // namespace fairlock::engine
