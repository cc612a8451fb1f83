// Runs many seeds, and for the first that fails says all that is needed to find out why.
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
  std::vector<std::size_t> only;  // of one seed: only the steps with these indices; empty: all
  Judges judges;
  bool has_trace = false;
  bool runs_twice = false;  // each seed, and the traces must be the same
  std::string program;      // how the command that replays a failure begins
};

struct CampaignReport {
  bool has_failed = false;
  std::uint64_t seeds = 0;
  std::uint64_t steps = 0;
  std::uint64_t trace_hash = 0;  // of all that happened; the same whenever the same seeds are run
  double cpu_seconds = 0;
};

// Failures are printed to stdout: seed, what differed, the shortened steps, the command that
// replays them.
CampaignReport RunCampaign(const CampaignOptions& options);

}  // namespace fairlock::simulation
