// A descriptor with which other threads wake the loop.
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
  // Waits at most `wait_ms_max` for a Signal. Returns at once if there was one since the last
  // Await.
  void Await(int wait_ms_max);

 private:
  int descriptor_;
};

}  // namespace fairlock::net
