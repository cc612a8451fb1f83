// Totals of events for each label since the start, for metrics that never decrease.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/api/event.h"
#include "server/record/duration_histogram.h"
#include "server/record/label_counts.h"

namespace fairlock::record {

struct LabelTotal {
  std::string label;
  std::size_t index = 0;
  engine::TimeMs last_at = 0;
  std::array<std::uint64_t, kCounterNames.size()> counts{};
  BucketCounts<kWaitAndHoldBoundsMs> waits;  // for grants after a wait
  BucketCounts<kWaitAndHoldBoundsMs> holds;  // for holds that have ended
};

// The first labels get totals of their own, as long as there is space for their names. Events of
// further labels count as kOther until one of the labels has had no events for a day. So pages
// generated from the totals have a bounded size, however long the labels are. The first total
// counts events without a label, the second is kOther. Recording an event allocates only for a new
// label. For use by the loop thread only.
class LabelTotals {
 public:
  // Each label takes up its length plus this many bytes of the space for labels.
  static constexpr std::size_t kBytesBeside = 64;
  static constexpr std::size_t kBytesMax = 1280;
  static constexpr engine::DurationMs kIdleMs = 24 * 60 * 60 * 1000;
  static constexpr std::string_view kOther = "other";

  LabelTotals();

  void Take(const engine::Event& event);
  // Takes the end of a hold whose duration is not known.
  void TakeWithoutAge(const engine::Event& event);

  const std::vector<std::unique_ptr<LabelTotal>>& all() const { return totals_; }
  // Returns the index in all() of the total that counts this label.
  std::size_t IndexOf(std::string_view label) const;

 private:
  LabelTotal& Find(std::string_view label, engine::TimeMs at);
  LabelTotal& Add(std::string_view label);
  // Drops a label that is idle, if there is one, to make room for this one. Returns whether it did.
  bool MakeRoom(std::string_view label, engine::TimeMs at);

  std::vector<std::unique_ptr<LabelTotal>> totals_;
  boost::unordered_flat_map<std::string_view, LabelTotal*> by_label_;
  std::size_t bytes_ = 0;
  engine::TimeMs idle_searched_at_ = 0;
};

}  // namespace fairlock::record
