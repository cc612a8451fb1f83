// Passes what the engine tells on to several listeners.
#pragma once

#include <algorithm>
#include <cassert>
#include <vector>

#include "server/engine/api/event.h"

namespace fairlock::engine {

// They hear each event in the order in which they were added, and must outlive the fan or be
// removed. Nobody is added or removed while an event is told. Loop-confined.
class EventFan final : public EventSink {
 public:
  void Add(EventSink& sink) {
    assert(std::find(sinks_.begin(), sinks_.end(), &sink) == sinks_.end());
    sinks_.push_back(&sink);
  }
  void Remove(EventSink& sink) { std::erase(sinks_, &sink); }
  // Whom to tell: nobody, the only one without a detour, or this.
  EventSink* entrance() {
    if (sinks_.empty()) return nullptr;
    return sinks_.size() == 1 ? sinks_.front() : this;
  }

  void Take(const Event& event) override {
    for (EventSink* sink : sinks_) sink->Take(event);
  }

 private:
  std::vector<EventSink*> sinks_;
};

}  // namespace fairlock::engine
