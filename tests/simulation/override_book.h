// The overrides of LIMIT that an operator has set, as the model and the ledger store them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/simulation/call.h"
#include "tests/simulation/setting.h"

namespace fairlock::simulation {

// The lists are plain and searched from end to end. Patterns are indexes into those of the Setting.
class OverrideBook {
 public:
  explicit OverrideBook(const Setting& setting) : setting_(setting) {}

  // Execute kSetLimit and kDropLimit. Set returns the operator's reply.
  int Set(const Call& call, TimeMs now);
  bool Drop(int pattern);
  // Drops overrides that have ended; returns true if there were any.
  bool EndBy(TimeMs now);
  TimeMs NextEnd() const;
  // The limit in force on the key: that of its exact pattern, otherwise that of the pattern with
  // the most literal bytes or, among equal ones, that of the newest.
  std::optional<std::uint32_t> LimitOf(int key) const;
  bool was_ever_used() const { return newest_ > 0; }

 private:
  struct Row {
    int pattern = kAbsent;
    std::uint32_t limit = 0;
    TimeMs end = 0;
    std::uint64_t number = 0;  // increases with each LIMIT SET
  };

  const Setting& setting_;
  std::vector<Row> rows_;
  std::uint64_t newest_ = 0;
};

}  // namespace fairlock::simulation
