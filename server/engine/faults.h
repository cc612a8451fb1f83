// Deliberate faults, compiled in only with FAIRLOCK_FAULTS, that show that the simulator finds what
// it should.
#pragma once

#include <array>
#include <string_view>

namespace fairlock::engine {

enum class Fault {
  kNone,
  kBarging,                   // a newcomer takes free room although others wait
  kDoubleGrant,               // a request is granted although there is no room
  kLostWaiter,                // a release forgets to look at the line
  kTokenReuse,                // now and then a grant gets the token of the one before
  kEarlyExpiry,               // a lease ends one millisecond early
  kLateExpiry,                // a command does not settle the key it names
  kLifo,                      // a waiter joins at the head of the line
  kForeignUnlock,             // UNLOCK does not compare the owner
  kRenewShortens,             // RENEW keeps the old end
  kRepeatShortens,            // a repeated LOCK shortens the lease
  kLostTimeout,               // a WAIT limit is never reported
  kGhostPlace,                // a place stays when its connection closes
  kLimitIgnoresHolders,       // a request counts only its own LIMIT, not that of present holds
  kSilentSupersede,           // the earlier request of an owner is not answered
  kWatchTooEarly,             // WAIT key is answered by the end of any hold
  kNoReservation,             // no room is kept for an absent head of the line
  kKeepEndsWithWait,          // a place with KEEP goes with the time-out of its request
  kPassedOverBlocks,          // a place without connection still stands in the way
  kReturnLosesPlace,          // an owner that comes back stands at the end of the line
  kSharedBarges,              // a SHARED request joins SHARED holders although others wait
  kExclusiveJoins,            // an exclusive request is granted beside SHARED holders
  kNoCooling,                 // MINHOLD is ignored
  kBreakCools,                // BREAK leaves a room cooling
  kUndoCools,                 // an undone grant leaves a room cooling
  kNoSessionGrace,            // a session's hold ends at once when its connection closes
  kSessionSurvives,           // a session's hold stays when its connection closes
  kSessionNotMoved,           // a repeated LOCK with SESSION does not move the binding
  kFullIgnored,               // MAXWAITERS is ignored
  kReplaceOldest,             // REPLACE takes the oldest place
  kDrainSparesPlain,          // a drain concerns only requests that gave LIMIT
  kOverrideSparesHolds,       // an override does not replace what present holds gave
  kOverrideOldestWins,        // of overrides that match alike the oldest is in force
  kOverrideStays,             // an override with an end does not end
  kLimitChangeUnseen,         // lines are not looked at after a change of overrides
  kMlockIgnoresOtherKeys,     // an MLOCK is granted when its turn has come on one of its keys
  kMlockHoldsPart,            // the last key of an MLOCK is free again when it is granted
  kMlockTokensDiffer,         // each key of an MLOCK gets a token of its own
  kMlockIsPassed,             // a place of an MLOCK with room on this key is passed in its line
  kMlockForgetsLines,         // only one line of an MLOCK is looked at again
  kMlockReservesPart,         // KEEP reserves the rooms that are there
  kMlockPassedOverInOneLine,  // in the other lines of an MLOCK it blocks on
  kMlockKeepsPart,            // MLOCK repeated does not release what is left of it
  kMlockUndoesPart,           // of an MLOCK that nobody read one key is undone
  kMrenewPart,                // MRENEW renews what is there
  kDeadlockUnseen,            // no wait is refused
  kDeadlockIgnoresLine,       // of what a request waits for only the holders are seen
  kDeadlockCountsAbsent,      // absent places count as waiting requests
  kDeadlockCountsSeveral,     // an owner is stuck if one of its requests is
  kDeadlockByAnyHolder,       // one stuck holder is enough, also where another leaves room
  kDeadlockLooksAtOneKey,     // of an MLOCK that waits only one key is seen
  kStepHandsOver,             // what a step releases is handed over before its end
  kStepWaits,                 // a request waits inside a step
  kNotifyLossUntold,          // the channel of a hold that is lost hears nothing
  kNotifyOutlivesChannel,     // a place waits on without a subscriber of its channel
  kNotifyReturnUnseen,        // a place stays absent although its channel has a subscriber again
  kNotifySupersedes,          // a repeated LOCK supersedes itself on its own channel
  kNotifyWaitsOn,             // the WAIT of a place whose channel was away has no end
  kStepForgetsLines,          // in the end of a step one line is not looked at
  kSetIsIdempotent,           // SET NX is granted to the value that holds
  kDelEndsNative,             // DEL ends what LOCK has granted
  kDelForgetsLine,            // a release by key forgets to look at the line
  kTakeoverUnanswered,        // the value that waited is not told of its takeover
  kExpireChangesNative,       // EXPIRE changes what LOCK has granted
  kSetNeverShortens,          // a renewing SET keeps the longer lease
  kRepeatStaysRedis,          // what LOCK repeats can still be ended by DEL
  kTransferStaysRedis,        // what is transferred can still be ended by DEL
  kFlushEndsNative,           // FLUSHDB ends what LOCK has granted
  kMsetnxPart,                // MSETNX takes what is free
  kRenameLosesLease,          // INCR takes the end from the lease
  kMarkCountsAtOnce,          // a value that was denied once has a place
  kMarkIsForever,             // a value may ask once more at any time
  kMarkDatedLate,             // the place of a value is dated from its second denial
  kMarkBlocks,                // a value that was denied once delays others
  kValueNotKept,              // the third SET NX of a value does not prolong its place
  kValueTakesOverPlace,       // SET NX makes a place its own that LOCK has made
  kValueOverMaxKeep,          // the places of values may outlive max_keep
  kWriteTakesPlace,           // a write without NX that is denied takes a place
  kShortageIgnored,           // new locks are granted although memory is short
  kNoRoomIgnored,             // new locks are granted although the disk is full
  kLineUnbounded,             // a line grows beyond the configured number of places on one key
  kClientUnbounded,           // one client may hold and wait for more than is configured
  kTellsNoExpiry,             // the event of a lease that ends is not told
  kTellsTwice,                // a release is told twice
  kTellsWrongToken,           // the event of a renewal names another token
  kTellsTooEarly,             // a grant after a wait is told before the owner holds
  kStopGrants,                // after a clean stop a connection that ends passes its locks on
  kStopUndoes,                // after a clean stop an undelivered grant is undone
  kStopExpires,               // after a clean stop leases and waits still end
};

inline constexpr std::array<std::string_view, 89> kFaultNames = {
    "none",
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
    "watch-too-early",
    "no-reservation",
    "keep-ends-with-wait",
    "passed-over-blocks",
    "return-loses-place",
    "shared-barges",
    "exclusive-joins",
    "no-cooling",
    "break-cools",
    "undo-cools",
    "no-session-grace",
    "session-survives",
    "session-not-moved",
    "full-ignored",
    "replace-oldest",
    "drain-spares-plain",
    "override-spares-holds",
    "override-oldest-wins",
    "override-stays",
    "limit-change-unseen",
    "mlock-ignores-other-keys",
    "mlock-holds-part",
    "mlock-tokens-differ",
    "mlock-is-passed",
    "mlock-forgets-lines",
    "mlock-reserves-part",
    "mlock-passed-over-in-one-line",
    "mlock-keeps-part",
    "mlock-undoes-part",
    "mrenew-part",
    "deadlock-unseen",
    "deadlock-ignores-line",
    "deadlock-counts-absent",
    "deadlock-counts-several",
    "deadlock-by-any-holder",
    "deadlock-looks-at-one-key",
    "step-hands-over",
    "step-waits",
    "notify-loss-untold",
    "notify-outlives-channel",
    "notify-return-unseen",
    "notify-supersedes",
    "notify-waits-on",
    "step-forgets-lines",
    "set-is-idempotent",
    "del-ends-native",
    "del-forgets-line",
    "takeover-unanswered",
    "expire-changes-native",
    "set-never-shortens",
    "repeat-stays-redis",
    "transfer-stays-redis",
    "flush-ends-native",
    "msetnx-part",
    "rename-loses-lease",
    "mark-counts-at-once",
    "mark-is-forever",
    "mark-dated-late",
    "mark-blocks",
    "value-not-kept",
    "value-takes-over-place",
    "value-over-max-keep",
    "write-takes-place",
    "shortage-ignored",
    "no-room-ignored",
    "line-unbounded",
    "client-unbounded",
    "tells-no-expiry",
    "tells-twice",
    "tells-wrong-token",
    "tells-too-early",
    "stop-grants",
    "stop-undoes",
    "stop-expires",
};

#ifdef FAIRLOCK_FAULTS
inline Fault active_fault = Fault::kNone;
inline bool IsFaulty(Fault fault) { return active_fault == fault; }
#else
constexpr bool IsFaulty(Fault) { return false; }
#endif

}  // namespace fairlock::engine
