// What is done when the system gives no more memory.
#pragma once

namespace fairlock::server {

inline constexpr int kOutOfMemoryStatus = 4;

// From now on the process ends at once, with kOutOfMemoryStatus and a line on that descriptor, when
// an allocation fails. Nothing is half done then: no exception runs through code that is changing
// locks, nothing is answered that was not kept, and the next start finds what a killed process
// leaves. The descriptor must stay open; a pipe that is full gets no line.
void EndWhenOutOfMemory(int log_descriptor);

}  // namespace fairlock::server
