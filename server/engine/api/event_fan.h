// Passes the engine's events on to several listeners.
#pragma once

#include <algorithm>
#include <cassert>
#include <vector>

#include "server/engine/api/event.h"

namespace fairlock::engine {

// The listeners receive each event in the order in which they were added. They must outlive the fan
// or be removed from it, and none may be added or removed while an event is being delivered.
// Loop-confined.
class EventFan final : public EventSink {
 public:
  void Add(EventSink& sink) {
    assert(std::find(sinks_.begin(), sinks_.end(), &sink) == sinks_.end());
    sinks_.push_back(&sink);
  }
  void Remove(EventSink& sink) { std::erase(sinks_, &sink); }
  // The sink to give to the engine: null if there is no listener, the listener itself if there is
  // only one, else this.
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
