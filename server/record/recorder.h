// What the server remembers of what happened to locks.
#pragma once

#include <cstddef>
#include <memory>

#include "server/engine/event.h"
#include "server/record/history.h"

namespace fairlock::record {

struct RecorderOptions {
  std::size_t history_bytes = 16 * 1024 * 1024;  // 0: no history; at least History::kBytesMin
};

// Hears every event once and passes it on to those that are on. Loop-confined.
class Recorder final : public engine::EventSink {
 public:
  explicit Recorder(const RecorderOptions& options) {
    if (options.history_bytes > 0) history_ = std::make_unique<History>(options.history_bytes);
  }

  bool is_on() const { return history_ != nullptr; }
  // Null: it is off.
  History* history() { return history_.get(); }

  void Take(const engine::Event& event) override {
    if (history_ != nullptr) history_->Take(event);
  }

 private:
  std::unique_ptr<History> history_;
};

}  // namespace fairlock::record
