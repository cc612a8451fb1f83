// The program that runs the engine as it is shipped has no faults.

#include "tests/simulation/faults/active_fault.h"

namespace fairlock::simulation {

std::span<const std::string_view> FaultNames() { return {}; }

}  // namespace fairlock::simulation
