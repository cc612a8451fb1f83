// Being run as soon as there is something to do.
#pragma once

namespace fairlock::bench {

// Asks for real-time priority, for it is the server that is to be measured and not the scheduler's
// choice of whom to run. Where that is not allowed it is measured without.
void AskForRealTime();

}  // namespace fairlock::bench
