// Ends the process when an allocation fails.
#pragma once

namespace fairlock::server {

inline constexpr int kOutOfMemoryStatus = 4;

// After this call, a failed allocation ends the process at once, with kOutOfMemoryStatus and a line
// on `log_descriptor`. So no exception unwinds through code that is changing locks, no reply is
// sent for a change that was not persisted, and the next start finds the same state as after a
// kill. The descriptor must stay open; if it is a full pipe, the line is dropped.
void EndWhenOutOfMemory(int log_descriptor);

}  // namespace fairlock::server
