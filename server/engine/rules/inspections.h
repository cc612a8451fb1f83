// Inspection: LOCKINFO, QUEUE, POSITION, LOCKS and similar commands show a lock as it is now, after
// what is due on it has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "server/engine/api/effects.h"
#include "server/engine/api/inspection.h"
#include "server/engine/rules/rule.h"
#include "server/engine/state/lock_entry.h"

namespace fairlock::engine {

// Each call except Scan first ends what is due on the key, so it may have effects.
class Inspections : Rule {
 public:
  using Rule::Rule;

  bool Check(const KeyName& key, Token token, Step step);
  std::uint64_t CountHolders(const KeyName& key, Step step);
  // A number that changes whenever the end of a lease changes while the holders stay the same.
  std::uint64_t LeaseStamp(const KeyName& key, Step step);
  bool IsHeldBy(const KeyName& key, std::string_view owner, Step step);
  // 0: the owner holds the lock; n: its place, beyond 1,000 an upper bound; none: it has neither.
  std::optional<std::uint64_t> Position(const KeyName& key, std::string_view owner, Step step);
  // Through which the owner's place was requested; null: it has none.
  const ClientIdentity* ClientOfPlace(const KeyName& key, std::string_view owner, Step step);
  LockInfo Inspect(const KeyName& key, std::size_t holders_max, Step step);
  Explanation Explain(const KeyName& key, std::string_view owner, Step step);
  // Places `start` .. `start + count - 1`, counted from 0. O(start + count).
  std::vector<PlaceInfo> Queue(const KeyName& key, std::uint64_t start, std::uint64_t count,
                               Step step);
  // Considers about `count` locks from `cursor` on (0 at the beginning), visits those that pass the
  // filter, and returns the next cursor, which is 0 at the end. A lock that exists during the whole
  // walk is considered at least once; with wait_ms_min, this holds only if it has a queue during
  // the whole walk. Does not end what is due.
  std::uint64_t Scan(std::uint64_t cursor, std::size_t count, const LockFilter& filter, TimeMs now,
                     const std::function<void(const LockSummary&)>& visit) const;
  // None: no request of that connection waits.
  static std::optional<AwaitedLock> AwaitedBy(const Attachment& attachment);

 private:
  HolderInfo Describe(const Hold& hold, TimeMs now) const;
  PlaceInfo Describe(const Claim& place, std::uint64_t position, TimeMs now) const;
  std::vector<HolderInfo> DescribeHolders(const LockEntry& lock, std::size_t holders_max,
                                          TimeMs now) const;
  static void DescribeSlots(const ContendedLock& contended, LockInfo& info, TimeMs now);
  std::uint64_t PositionOf(const Claim& place) const;
  LockSummary Summarize(const LockEntry& lock, TimeMs now) const;
  bool Passes(const LockFilter& filter, const LockEntry& lock, const LockSummary& summary) const;
  template <typename Visit>
  static void VisitHolds(const LockEntry& lock, Visit&& visit);
};

}  // namespace fairlock::engine
