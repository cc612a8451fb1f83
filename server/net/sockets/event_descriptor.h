// A descriptor by which other threads wake the loop.
#pragma once

namespace fairlock::net {

class EventDescriptor {
 public:
  EventDescriptor();
  EventDescriptor(const EventDescriptor&) = delete;
  EventDescriptor& operator=(const EventDescriptor&) = delete;
  ~EventDescriptor();

  int descriptor() const { return descriptor_; }

  // Thread-safe.
  void Signal();
  // Until the next Signal, or one since the last Await; at most so long.
  void Await(int wait_ms_max);

 private:
  int descriptor_;
};

}  // namespace fairlock::net
