// Real-time scheduling.
#pragma once

namespace fairlock::bench {

// Requests real-time priority, so that measurements show the server's delays and not the
// scheduler's. Without permission the measurement runs at normal priority.
void AskForRealTime();

}  // namespace fairlock::bench
