// How often what happened to the locks of each label, minute by minute.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/api/event.h"
#include "server/record/label_counts.h"
#include "server/record/record_ring.h"

namespace fairlock::record {

struct StatisticsQuery {
  std::optional<std::string_view> label = {};  // none: all; an empty one: what has no label
  int minutes = 60;                            // the last ones, the present one included
  bool is_by_minute = false;
};

struct StatisticsRow {
  std::string_view label;
  engine::TimeMs since = 0;  // by minute: its beginning
  const LabelCounts<std::uint64_t>& counts;
};

// Counts by label and by minute of the clock of the events. At most `labels_max` labels have their
// own; what comes under further ones is counted as kOther until one of them had nothing for a day.
//
// The present minute of a label takes 8.3 KB, what is over a few bytes for each thing that
// happened: kDayBytes for each label, which all share; if that is not enough for a day, the oldest
// give way (complete_since). Taking an event allocates only for a label that is new. Loop-confined.
class LabelStatistics {
 public:
  static constexpr engine::DurationMs kMinuteMs = 60'000;
  static constexpr int kMinutesMax = 24 * 60;
  static constexpr std::size_t kLabelsMax = 1000;
  static constexpr std::size_t kDayBytes = 128 * 1024;
  static constexpr std::string_view kOther = "other";

  // REQUIRES: labels_max from 1 to kLabelsMax.
  LabelStatistics(std::size_t labels_max, engine::TimeMs now);

  void Take(const engine::Event& event) {
    if (event.label.empty() && event.at < series_.front()->end) {
      Count(event, series_.front()->counts);
    } else {
      TakeElsewhere(event);
    }
  }

  // Visits the labels in the order of their names, and their minutes in order; only those under
  // which something happened. O(labels * minutes).
  void Read(const StatisticsQuery& query, engine::TimeMs now,
            const std::function<void(const StatisticsRow&)>& visit) const;

  // Those that have their own counts, in the order of their names; the first is empty.
  std::vector<std::string> Labels() const;
  // From then on nothing is missing.
  engine::TimeMs complete_since() const;
  // Those that have their own counts, the unlabelled and kOther included.
  std::size_t label_count() const { return series_.size(); }
  // All that it takes now and may ever take, but for the names of labels.
  std::size_t memory_bytes() const;
  static std::size_t MemoryBytesMax(std::size_t labels_max);

 private:
  // One label.
  struct Series {
    std::string label;
    std::size_t index = 0;  // in series_; the chain in past_
    std::uint32_t minute = 0;
    engine::TimeMs end = 0;             // of that minute
    LabelCounts<std::uint32_t> counts;  // in it
  };
  // A minute that is over, packed behind it.
  struct PastMinute {
    std::uint32_t minute;
    std::uint32_t written;  // the minute in which it was packed
  };
  class Reading;

  static void Count(const engine::Event& event, LabelCounts<std::uint32_t>& counts);
  // Under a label, or in a minute that begins.
  void TakeElsewhere(const engine::Event& event);
  static std::uint32_t MinuteOf(engine::TimeMs at) {
    return static_cast<std::uint32_t>(at / kMinuteMs);
  }
  Series& Find(std::string_view label, engine::TimeMs at);
  Series& AddSeries(std::string_view label);
  Series* FindIdle(std::uint32_t minute);
  void TurnTo(Series& series, std::uint32_t minute);

  const std::size_t labels_max_;
  const engine::TimeMs started_at_;
  std::vector<std::unique_ptr<Series>> series_;  // the first has no label, the second is kOther
  boost::unordered_flat_map<std::string_view, Series*> by_label_;
  RecordRing past_;
  std::uint32_t idle_searched_in_ = 0;  // the minute in which no idle label was found
};

}  // namespace fairlock::record
