// fairlock_crash_sim: crashes and stops the state of a server in virtual time, from seeds.

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "tests/simulation/arguments.h"
#include "tests/simulation/crashes/crash_run.h"
#include "tests/simulation/isolated_run.h"

namespace fairlock::simulation {
namespace {

// Returns the exit code: 0 if no seed fails.
int RunSeeds(std::uint64_t first, std::uint64_t last) {
  CrashReport sum;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const CrashReport report = RunCrashes(seed);
    sum.crash_points += report.crash_points;
    sum.crashes += report.crashes;
    sum.clean_stops += report.clean_stops;
    sum.snapshots += report.snapshots;
    if (report.failure.empty()) continue;
    std::cout << "FAILED: seed " << seed << " at crash point " << report.crash_points << ": "
              << report.failure << "\n";
    return 1;
  }
  std::cout << last - first + 1 << " seeds, " << sum.crash_points << " crash points, "
            << sum.crashes << " crashes, " << sum.clean_stops << " clean stops, " << sum.snapshots
            << " snapshots, none failed\n";
  return 0;
}

}  // namespace
}  // namespace fairlock::simulation

int main(int argc, char** argv) {
  using namespace fairlock::simulation;
  CLI::App app("Crashes and stops the state of a server in virtual time, from seeds.");
  std::string seeds = "1..100";
  std::string fault = "none";
  bool expects_failure = false;
  app.add_option("--seed,--seeds", seeds, "one seed N, or all from A to B: A..B")
      ->capture_default_str();
  app.add_option("--fault", fault, "switch a deliberate fault on (fairlock_crash_sim_faults)")
      ->capture_default_str();
  app.add_flag("--expect-failure", expects_failure, "exit 0 if a seed fails, 1 if none does");
  CLI11_PARSE(app, argc, argv);
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  if (!ParseSeeds("fairlock_crash_sim", seeds, first, last)) return kBadArguments;
  if (!ActivateFault("fairlock_crash_sim", fault)) return kBadArguments;
  const ChildEnd end =
      RunInChild({.seconds_max = 24 * 3600}, [&] { return RunSeeds(first, last); });
  if (end.was_killed) std::cout << "FAILED: ended by signal " << end.code << "\n";
  return end.is_good() == expects_failure ? 1 : 0;
}
