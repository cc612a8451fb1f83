// Counts events for each label, minute by minute.
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
  // None means all labels; empty means events without a label.
  std::optional<std::string_view> label = {};
  int minutes = 60;  // up to and including the current minute
  bool is_by_minute = false;
};

struct StatisticsRow {
  std::string_view label;
  engine::TimeMs since = 0;  // start of each minute
  const LabelCounts<std::uint64_t>& counts;
};

// Counts events by label and minute. At most `labels_max` labels are counted separately; events of
// further labels count as kOther until one of the labels has had no events for a day.
//
// The current minute of a label takes 8.3 KB; a past minute takes a few bytes per event. Past
// minutes have kDayBytes per label, shared by all labels. If that is not enough for a day, the
// oldest minutes are dropped (complete_since). Recording an event allocates only for a new label.
// For use by the loop thread only.
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

  // Takes the end of a hold whose duration is not known.
  void TakeWithoutAge(const engine::Event& event);

  // Visits labels sorted by name, and the minutes of each label in order, but skips minutes without
  // events. O(labels * minutes).
  void Read(const StatisticsQuery& query, engine::TimeMs now,
            const std::function<void(const StatisticsRow&)>& visit) const;

  // Returns the labels that are counted separately, sorted by name. The first is empty.
  std::vector<std::string> Labels() const;
  // Counts are complete from this time on.
  engine::TimeMs complete_since() const;
  // Includes the series without a label and kOther.
  std::size_t label_count() const { return series_.size(); }
  // The memory used now and its upper limit. Both exclude the names of labels.
  std::size_t memory_bytes() const;
  static std::size_t MemoryBytesMax(std::size_t labels_max);

 private:
  // One label.
  struct Series {
    std::string label;
    std::size_t index = 0;  // in series_; also the number of its chain in past_
    std::uint32_t minute = 0;
    engine::TimeMs end = 0;             // end of the current minute
    LabelCounts<std::uint32_t> counts;  // the counts of the current minute
  };
  // A past minute; its packed counts follow it.
  struct PastMinute {
    std::uint32_t minute;
    std::uint32_t written;  // the minute in which this one was packed
  };
  class Reading;

  static void Count(const engine::Event& event, LabelCounts<std::uint32_t>& counts);
  // Records an event that has another label than the previous one, or is in a new minute.
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
  std::uint32_t idle_searched_in_ = 0;  // the last minute in which a search found no idle label
};

}  // namespace fairlock::record
