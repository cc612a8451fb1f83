// Collects the server's lock history and statistics.
#pragma once

#include <cstddef>
#include <memory>

#include "server/engine/api/event.h"
#include "server/record/history.h"
#include "server/record/label_statistics.h"
#include "server/record/label_totals.h"

namespace fairlock::record {

struct RecorderOptions {
  std::size_t history_bytes =
      16 * 1024 * 1024;          // 0 for no history; otherwise at least History::kBytesMin
  std::size_t labels_max = 100;  // 0 for no statistics
};

// Receives every event and passes it on to the enabled collectors. For use by the loop thread only.
class Recorder final : public engine::EventSink {
 public:
  Recorder(const RecorderOptions& options, engine::TimeMs now) {
    if (options.history_bytes > 0) history_ = std::make_unique<History>(options.history_bytes, now);
    if (options.labels_max > 0) {
      statistics_ = std::make_unique<LabelStatistics>(options.labels_max, now);
      totals_ = std::make_unique<LabelTotals>();
    }
  }

  bool is_on() const { return history_ != nullptr || statistics_ != nullptr; }
  // Null if the history is off.
  History* history() { return history_.get(); }
  // Counts the events that are written to a file; null if none are.
  const EventTap* tap() const { return history_ == nullptr ? nullptr : history_->tap(); }
  const LabelStatistics* statistics() const { return statistics_.get(); }
  const LabelTotals* totals() const { return totals_.get(); }

  // Prefetches memory for an expected event of that key.
  void Prefetch(std::uint64_t key_hash) const {
    if (history_ != nullptr) history_->Prefetch(key_hash);
  }
  void Take(const engine::Event& event) override {
    if (statistics_ != nullptr) {
      statistics_->Take(event);
      totals_->Take(event);
    }
    if (history_ != nullptr) history_->Take(event);
  }
  // Takes the end of a hold that the engine does not know, and whose duration is not known.
  void TakeWithoutAge(const engine::Event& event) {
    if (statistics_ != nullptr) {
      statistics_->TakeWithoutAge(event);
      totals_->TakeWithoutAge(event);
    }
    if (history_ != nullptr) history_->Take(event);
  }

 private:
  std::unique_ptr<History> history_;
  std::unique_ptr<LabelStatistics> statistics_;
  std::unique_ptr<LabelTotals> totals_;  // set together with statistics_
};

}  // namespace fairlock::record
