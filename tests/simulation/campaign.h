// Runs many seeds, and prints everything needed to debug the first one that fails.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/simulator.h"

namespace fairlock::simulation {

struct CampaignOptions {
  std::uint64_t first_seed = 1;
  std::uint64_t last_seed = 1;
  std::size_t steps = 1000;
  // Runs only the steps with these indices of one seed; empty means all steps.
  std::vector<std::size_t> only;
  Judges judges;
  bool has_trace = false;
  bool runs_twice = false;  // runs each seed twice; the traces must be the same
  std::string program;      // the start of the command that replays a failure
};

struct CampaignReport {
  bool has_failed = false;
  std::uint64_t seeds = 0;
  std::uint64_t steps = 0;
  // Hash of everything that happened; the same each time these seeds run
  std::uint64_t trace_hash = 0;
  double cpu_seconds = 0;
};

// Failures are printed to stdout: the seed, the difference, the shortened steps, and the command
// that replays them.
CampaignReport RunCampaign(const CampaignOptions& options);

}  // namespace fairlock::simulation
