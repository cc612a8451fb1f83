// Everything that a seed decides before the first step: names, engine options, sizes, and the mix
// of operations.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "server/engine/lock_engine.h"
#include "tests/simulation/call.h"

namespace fairlock::simulation {

inline constexpr int kConnectionsMax = 64;

struct KeyText {
  std::uint8_t db = 0;
  std::string bytes;

  engine::KeyName name() const { return {.db = db, .bytes = bytes}; }
};

// A glob for keys: a literal string with at most one star.
struct PatternText {
  std::uint8_t db = 0;
  std::string literal;
  bool has_star = false;
  bool is_star_first = false;

  bool Matches(const KeyText& key) const;
  // Ignores the database.
  bool MatchesBytes(const std::string& bytes) const;
  std::string glob() const;
};

// Which lengths of leases and waits a seed prefers.
enum class TimeScale { kTight, kUsual, kWide };

// Which LIMITs the clients of a seed use.
enum class LimitMix { kNone, kUniform, kMixed };

// How likely each option of LOCK is, in eighths.
struct OptionMix {
  int keep = 0;
  int shared = 0;
  int session = 0;
  int min_hold = 0;
  int waiters_max = 0;
  int notify = 0;
};

// compat.keep_place: how long the place of a value is kept after its SET NX.
struct KeepChoice {
  PatternText pattern;  // matches in any database
  DurationMs keep_ms = 0;
};

// Immutable once made.
struct Setting {
  std::uint64_t seed = 0;
  engine::EngineOptions engine;
  TimeMs start = 0;
  int connections = 2;
  std::vector<KeyText> keys;
  std::vector<PatternText> patterns;
  std::vector<std::string> owners;
  std::vector<std::string> metas;
  std::vector<std::string> labels;
  std::vector<std::string> channels;
  std::vector<KeepChoice> keep_choices;  // the first match applies
  TimeScale time_scale = TimeScale::kUsual;
  LimitMix limit_mix = LimitMix::kNone;
  std::uint32_t uniform_limit = 1;
  OptionMix option_mix;
  std::array<std::uint64_t, kOperationCount> weights{};
  // Advance gets a small budget at a time, so that it lags behind: commands then find overdue holds
  // and places on their keys.
  bool is_lagging = false;
  // With many keys, only some of them are compared after every step.
  bool is_wide = false;

  // SET NX takes no place if this is 0.
  DurationMs KeepOf(int key) const;
  const std::string& TextOf(const std::vector<std::string>& texts, int index) const;
};

Setting MakeSetting(std::uint64_t seed);

}  // namespace fairlock::simulation
