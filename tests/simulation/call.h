// One thing that happens to the engine, and all that came of it.
//
// Engine and model are given the same calls and their outcomes must be equal. Keys, owners and
// texts are numbers of the names in the Setting; connections are numbers too, never used twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/engine/effects.h"
#include "server/engine/requests.h"
#include "server/engine/types.h"

namespace fairlock::simulation {

using engine::DurationMs;
using engine::TimeMs;
using engine::Token;

enum class Operation : std::uint8_t {
  kLock,
  kUnlock,
  kRenew,
  kWait,
  kCheck,
  kCancel,
  kTransfer,
  kBreak,
  kCountHolders,
  kIsHeldBy,
  kPosition,
  kInspect,
  kQueue,
  kExplain,
  kRepeat,           // the request before, once more, from another connection
  kUnblock,          // what a connection waits for ends as at its time-out
  kDisconnect,       // a connection is lost; another comes in its stead
  kSleep,            // time passes, and nobody calls Advance
  kAdvance,          // time passes, and Advance is called
  kSetDefaultLease,  // the configuration changes
  kSetReconnectGrace,
  kSetLimit,  // an operator overrides LIMIT
  kDropLimit,
  kMlock,
  kMrenew,
  kMunlock,
  kBeginStep,  // the next commands are one step, as in EXEC
};
inline constexpr std::size_t kOperationCount = 27;

inline constexpr int kAbsent = -1;

// `duration_ms` after `now`, and no later than never.
TimeMs After(TimeMs now, DurationMs duration_ms);

// Whether what ends at `end` is past when the clock shows `now`.
// Both are rounded down, so only a tick that has passed whole is over for certain.
inline bool IsOver(TimeMs end, TimeMs now) { return end < now; }

struct Call {
  Operation operation = Operation::kSleep;
  int connection = kAbsent;
  int key = kAbsent;
  std::vector<int> keys{};  // of MLOCK, MRENEW, MUNLOCK; the first is `key`
  int owner = kAbsent;
  int new_owner = kAbsent;
  std::optional<Token> token;
  std::optional<DurationMs> lease_ms;
  DurationMs wait_ms = 0;
  DurationMs keep_ms = 0;
  std::optional<std::uint32_t> limit;
  bool is_shared = false;
  std::optional<DurationMs> session_grace_ms;
  DurationMs min_hold_ms = 0;
  std::optional<std::uint32_t> waiters_max;
  bool replaces_newest = false;
  bool only_new = false;
  int meta = kAbsent;
  int label = kAbsent;
  int pattern = kAbsent;      // kSetLimit, kDropLimit
  std::uint64_t start = 0;    // kQueue
  std::uint64_t count = 0;    // kQueue; kBeginStep: of how many commands
  std::size_t steps_max = 0;  // kAdvance: budget of one call of Advance
  bool until_done = true;     // kAdvance: again and again until nothing more is due
  std::size_t undone = 0;     // kDisconnect: so many of its latest grants it never read

  // In a step WAIT counts as absent.
  Call WithoutWait() const {
    Call call = *this;
    call.wait_ms = 0;
    return call;
  }
  // SHARED and LIMIT exclude each other; here SHARED wins.
  engine::Mode mode() const {
    const bool has_limit = limit.has_value() && !is_shared;
    return {has_limit ? *limit : 1, is_shared, has_limit};
  }
  bool is_mlock() const { return operation == Operation::kMlock; }
  // All keys that it names.
  std::vector<int> named() const { return keys.empty() ? std::vector{key} : keys; }
  // By the text of LOCK: the default lease, or none beside SESSION.
  DurationMs LeaseAsked(DurationMs default_lease_ms) const {
    return lease_ms.value_or(session_grace_ms ? 0 : default_lease_ms);
  }
};

// The answer to a request that waited.
struct Answer {
  int connection = kAbsent;
  int key = kAbsent;  // of MLOCK the first that it named
  engine::ResolutionKind kind = engine::ResolutionKind::kGranted;
  Token token = 0;
  int by = kAbsent;  // kReplaced: the owner that took the place

  friend bool operator==(const Answer&, const Answer&) = default;
};

// A lease that ended.
struct Expiry {
  int key = kAbsent;
  Token token = 0;
};

// A place of an absent owner that ended, on each of its keys.
struct Lapse {
  int key = kAbsent;
  int owner = kAbsent;
};

// Of a refusal: who waits for what because of whom.
struct DeadlockLink {
  int waiter = kAbsent;
  int key = kAbsent;
  int blocker = kAbsent;
  bool is_held = false;
};

// What a call returned; each operation uses the fields it needs, the others stay 0.
struct Outcome {
  int status = 0;
  int reason = 0;
  Token token = 0;
  std::int64_t number = 0;
  std::int64_t extra = 0;
  std::vector<Answer> answers;
  // The first links of the chain for which a wait is refused, and how many there are. For the
  // ledger; not compared.
  std::vector<DeadlockLink> links;
  std::size_t link_count = 0;
  // After a call that may end places of absent owners without a word: who is in
  // line then, for each key that it named. For the ledger; not compared.
  std::vector<std::vector<int>> owners_in_line;
  // The leases that ended in an Advance, in their order, which between keys is the engine's affair.
  // Not compared.
  std::vector<Expiry> expiries;
  // The places of absent owners that ended in an Advance. Not compared.
  std::vector<Lapse> lapses;

  void Clear();
  bool HasEqualResult(const Outcome& other) const;
};

// Rules 7 and 8: whether one more room of this mode is tolerated by all, itself
// included; an override replaces each LIMIT that was given, and 0 lets nobody in.
bool HasRoomBeside(const std::vector<engine::Mode>& taken, const engine::Mode& mode,
                   std::optional<std::uint32_t> limit_override);

// Whether it concerns the server as a whole and no key.
bool IsSetting(Operation operation);

// Whether it is asked by a client, and may be a part of a step.
bool IsRequest(Operation operation);

// When a lease of that length ends; 0: never.
TimeMs LeaseEnd(TimeMs now, DurationMs lease_ms);

// Answers to WAIT key, as against those to LOCK.
bool IsWatchAnswer(engine::ResolutionKind kind);

std::string Describe(const Answer& answer);
std::string Describe(const Outcome& outcome);
const char* NameOf(Operation operation);
// How often it happens beside the others when a seed has no preference.
std::uint64_t UsualWeightOf(Operation operation);

}  // namespace fairlock::simulation
