// Which deliberate fault of the engine is switched on.
#pragma once

#include <span>
#include <string_view>

namespace fairlock::simulation {

// The faults that are built into this program; the first has number 1. Defined by plant_faults.py
// for fairlock_sim_faults, and as an empty list for fairlock_sim.
std::span<const std::string_view> FaultNames();

inline int active_fault = 0;  // 0 if there is none

inline bool IsFaultActive(int number) { return active_fault == number; }

}  // namespace fairlock::simulation
