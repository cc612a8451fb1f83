#include "bench/load_generator/real_time.h"

#include <sched.h>

namespace fairlock::bench {

void AskForRealTime() {
  sched_param parameters{};
  parameters.sched_priority = 1;
  sched_setscheduler(0, SCHED_FIFO, &parameters);
}

}  // namespace fairlock::bench
