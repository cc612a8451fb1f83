// What happened to the locks of each label since the start, for figures that only rise.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/api/event.h"
#include "server/record/bucket_counts.h"
#include "server/record/label_counts.h"

namespace fairlock::record {

struct LabelTotal {
  std::string label;
  std::size_t index = 0;
  engine::TimeMs last_at = 0;
  std::array<std::uint64_t, kCounterNames.size()> counts{};
  BucketCounts<kWaitAndHoldBoundsMs> waits;  // of grants that waited
  BucketCounts<kWaitAndHoldBoundsMs> holds;  // of holds that ended
};

// The labels that come first have their own totals, as many as their text leaves room for; what
// comes under further ones is counted as kOther, until one of them had nothing for a day. So what
// is made of the totals has a bound, however long labels are. The first total has no label, the
// second is kOther. Taking an event allocates only for a label that is new. Loop-confined.
class LabelTotals {
 public:
  // Of the room for labels, each takes this and its length.
  static constexpr std::size_t kBytesBeside = 64;
  static constexpr std::size_t kBytesMax = 1280;
  static constexpr engine::DurationMs kIdleMs = 24 * 60 * 60 * 1000;
  static constexpr std::string_view kOther = "other";

  LabelTotals();

  void Take(const engine::Event& event);

  const std::vector<std::unique_ptr<LabelTotal>>& all() const { return totals_; }
  // Under which total a label is counted: the index in all().
  std::size_t IndexOf(std::string_view label) const;

 private:
  LabelTotal& Find(std::string_view label, engine::TimeMs at);
  LabelTotal& Add(std::string_view label);
  // Whether an idle label gave way.
  bool MakeRoom(std::string_view label, engine::TimeMs at);

  std::vector<std::unique_ptr<LabelTotal>> totals_;
  boost::unordered_flat_map<std::string_view, LabelTotal*> by_label_;
  std::size_t bytes_ = 0;
  engine::TimeMs idle_searched_at_ = 0;
};

}  // namespace fairlock::record
