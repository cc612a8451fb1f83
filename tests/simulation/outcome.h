// All effects of one call to the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "server/engine/api/effects.h"
#include "server/engine/api/event.h"
#include "server/engine/api/types.h"

namespace fairlock::simulation {

using engine::DurationMs;
using engine::TimeMs;
using engine::Token;

inline constexpr int kAbsent = -1;

// The pseudo-connection of a request that waits on a NOTIFY channel.
inline int ConnectionOfChannel(int channel) { return -10 - channel; }
inline bool IsChannel(int connection) { return connection <= -10; }

// The answer to a request that waited.
struct Answer {
  int connection = kAbsent;
  int key = kAbsent;  // for MLOCK the first key that it named
  engine::ResolutionKind kind = engine::ResolutionKind::kGranted;
  Token token = 0;
  int by = kAbsent;     // for kReplaced, the owner that took the place
  int owner = kAbsent;  // on a channel, the requester; `key` is then the first key of its place

  friend bool operator==(const Answer&, const Answer&) = default;
};

// A lease that ended.
struct Expiry {
  int key = kAbsent;
  Token token = 0;
};

// A hold with NOTIFY that was ended by someone else or by time, and the channel on which the loss
// was announced.
struct Loss {
  int channel = kAbsent;
  int key = kAbsent;
  int owner = kAbsent;
  Token token = 0;
  engine::EventKind kind = engine::EventKind::kExpired;

  friend bool operator==(const Loss&, const Loss&) = default;
};

// An absent owner's place that ended; one Lapse for each of its keys.
struct Lapse {
  int key = kAbsent;
  int owner = kAbsent;
};

// An event as listeners receive it, at the moment when it happens.
struct ToldEvent {
  engine::EventKind kind = engine::EventKind::kGranted;
  int key = kAbsent;
  int owner = kAbsent;
  Token token = 0;
  int reason = 0;
  int other = kAbsent;
  Token other_token = 0;
  DurationMs waited_ms = 0;
  DurationMs held_ms = 0;
  DurationMs grace_ms = 0;
  TimeMs at = 0;
  // False if a grant is announced when its hold does not exist, or when another hold is
  // unannounced.
  bool is_in_time = true;

  friend bool operator==(const ToldEvent&, const ToldEvent&) = default;
};

// Part of a refusal: which owner waits, for which key, and because of which other owner.
struct DeadlockLink {
  int waiter = kAbsent;
  int key = kAbsent;
  int blocker = kAbsent;
  bool is_held = false;
};

// The result of a call; each operation uses the fields it needs, the others stay 0.
struct Outcome {
  int status = 0;
  int reason = 0;
  Token token = 0;
  std::int64_t number = 0;
  std::int64_t extra = 0;
  std::vector<Answer> answers;
  // They are in order on each key.
  std::vector<Loss> losses;
  // They are in order on each key; the engine may choose the order across keys.
  std::vector<ToldEvent> events;
  // The first links of the chain because of which a wait is refused, and the number of all links.
  // For the ledger; not compared.
  std::vector<DeadlockLink> links;
  std::size_t link_count = 0;
  // The owners in the queue of each key that the call named, after a call that may silently end
  // places of absent owners. For the ledger; not compared.
  std::vector<std::vector<int>> owners_in_line;
  // The leases that ended in an Advance, in order on each key; the engine may choose the order
  // across keys. Not compared.
  std::vector<Expiry> expiries;
  // The places of absent owners that ended in an Advance. Not compared.
  std::vector<Lapse> lapses;
  // The holds that were released while a call of the Redis way was executed, and the newest token
  // before it. Not compared.
  std::vector<Expiry> releases;
  Token newest_token_before = 0;

  void Clear();
  bool HasEqualResult(const Outcome& other) const;
  // Whether clients and listeners were told nothing.
  bool IsSilent() const { return answers.empty() && losses.empty() && events.empty(); }
};

// Whether an answer of this kind is to WAIT key rather than to LOCK.
bool IsWatchAnswer(engine::ResolutionKind kind);

std::string Describe(const Answer& answer);
std::string Describe(const ToldEvent& event);
std::string Describe(const Outcome& outcome);

}  // namespace fairlock::simulation
