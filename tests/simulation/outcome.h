// All that came of one thing that happened to the engine.
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

// A channel of NOTIFY in the stead of the connection on which a request waits.
inline int ConnectionOfChannel(int channel) { return -10 - channel; }
inline bool IsChannel(int connection) { return connection <= -10; }

// The answer to a request that waited.
struct Answer {
  int connection = kAbsent;
  int key = kAbsent;  // of MLOCK the first that it named
  engine::ResolutionKind kind = engine::ResolutionKind::kGranted;
  Token token = 0;
  int by = kAbsent;     // kReplaced: the owner that took the place
  int owner = kAbsent;  // by a channel: whose request it was, and the key is the first of its place

  friend bool operator==(const Answer&, const Answer&) = default;
};

// A lease that ended.
struct Expiry {
  int key = kAbsent;
  Token token = 0;
};

// A hold with NOTIFY that ended otherwise than by its owner, and the channel that was told so.
struct Loss {
  int channel = kAbsent;
  int key = kAbsent;
  int owner = kAbsent;
  Token token = 0;
  engine::EventKind kind = engine::EventKind::kExpired;

  friend bool operator==(const Loss&, const Loss&) = default;
};

// A place of an absent owner that ended, on each of its keys.
struct Lapse {
  int key = kAbsent;
  int owner = kAbsent;
};

// What the engine tells those who listen, at the moment at which it happens.
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
  TimeMs at = 0;
  // The hold of a grant is there, and no other that was not told yet.
  bool is_in_time = true;

  friend bool operator==(const ToldEvent&, const ToldEvent&) = default;
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
  // In their order on each key.
  std::vector<Loss> losses;
  // In their order on each key; between keys it is the engine's affair.
  std::vector<ToldEvent> events;
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
  // The holds that were released while a call of the Redis way was executed, and the newest token
  // before it. Not compared.
  std::vector<Expiry> releases;
  Token newest_token_before = 0;

  void Clear();
  bool HasEqualResult(const Outcome& other) const;
  // Nobody was told anything.
  bool IsSilent() const { return answers.empty() && losses.empty() && events.empty(); }
};

// Answers to WAIT key, as against those to LOCK.
bool IsWatchAnswer(engine::ResolutionKind kind);

std::string Describe(const Answer& answer);
std::string Describe(const ToldEvent& event);
std::string Describe(const Outcome& outcome);

}  // namespace fairlock::simulation
