// fairlock_fleet_sim: runs a fleet on a modelled etcd in virtual time, from seeds.

#include <sys/mman.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cassert>
#include <iomanip>
#include <iostream>
#include <string>

#include "tests/simulation/arguments.h"
#include "tests/simulation/fleet/fleet.h"
#include "tests/simulation/isolated_run.h"

namespace fairlock::fleet {
namespace {

constexpr int kFailureCode = 3;
constexpr unsigned kSecondsOfSeedMax = 60;
constexpr unsigned kSecondsOfCampaignMax = 7 * 24 * 3600;
// A printed history begins this long before the first relevant request.
constexpr TimeUs kTimeBefore = kSecond;

struct Arguments {
  std::string seeds = "1..100";
  std::uint64_t first = 1;
  std::uint64_t last = 100;
  std::string fault = "none";
  bool expects_failure = false;
  bool has_trace = false;
  bool has_partitions = false;
  bool runs_twice = false;
};

void PrintHistory(const FleetReport& report, bool is_whole) {
  const Violation& violation = *report.violation;
  for (const HistoryLine& line : report.history) {
    const bool is_of_key = line.key < 0 || line.key == violation.key;
    const bool is_shown = is_of_key && line.time >= violation.since - kTimeBefore;
    if (!is_whole && !is_shown) continue;
    std::cout << std::setw(10) << std::fixed << std::setprecision(3)
              << static_cast<double>(line.time) / kMs << " ms  " << line.text << "\n";
  }
}

void Explain(const Arguments& arguments, const Setting& setting) {
  const FleetReport report = RunFleet(setting, true);
  std::cout << "\nFAILED: " << TextOf(setting) << "\n";
  if (!report.violation) {
    std::cout << "it does not fail again\n";
    return;
  }
  PrintHistory(report, arguments.has_trace);
  std::cout << report.violation->text << "\n\nreplay: fairlock_fleet_sim --seed " << setting.seed;
  if (arguments.fault != "none") std::cout << " --fault " << arguments.fault;
  if (arguments.has_partitions) std::cout << " --partitions";
  std::cout << " --trace\n";
}

// Shared with the child process, which a failed assertion may end.
std::uint64_t* seed_of_child = nullptr;

void ShareSeed() {
  void* const memory = mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert(memory != MAP_FAILED);
  seed_of_child = new (memory) std::uint64_t(0);
}

struct Counts {
  std::uint64_t seeds = 0;
  std::uint64_t replies = 0;
  std::uint64_t leads = 0;
  std::uint64_t hand_overs = 0;
};

bool RunSeed(const Arguments& arguments, std::uint64_t seed, Counts& counts) {
  const Setting setting = MakeSetting(seed, arguments.has_partitions);
  const FleetReport report = RunFleet(setting, false);
  if (report.violation) {
    Explain(arguments, setting);
    return false;
  }
  if (arguments.runs_twice && RunFleet(setting, false).hash != report.hash) {
    std::cout << "\nFAILED: seed " << seed << ": a second run is different\n";
    return false;
  }
  ++counts.seeds;
  counts.replies += report.replies;
  counts.leads += report.leads;
  counts.hand_overs += report.hand_overs;
  return true;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Runs the seeds in a child process.
int RunSeeds(const Arguments& arguments) {
  Counts counts;
  std::uint64_t seed = arguments.first;
  bool has_failed = false;
  for (; seed <= arguments.last && !has_failed; ++seed) {
    simulation::LimitTime(kSecondsOfSeedMax);
    *seed_of_child = seed;
    has_failed = !RunSeed(arguments, seed, counts);
  }
  const double cpu_seconds = std::max(CpuSeconds(), 1e-6);
  std::cout << counts.seeds << " seeds, " << counts.replies << " replies, " << counts.leads
            << " take-overs, " << counts.hand_overs << " hand-overs for the balance, " << std::fixed
            << std::setprecision(2) << cpu_seconds << " s of CPU, " << std::setprecision(0)
            << static_cast<double>(counts.seeds) / cpu_seconds << " seeds/s, "
            << (has_failed ? "one FAILED" : "none failed") << "\n";
  return has_failed ? kFailureCode : 0;
}

int RunCampaign(const Arguments& arguments) {
  ShareSeed();
  const simulation::ChildEnd end = simulation::RunInChild({.seconds_max = kSecondsOfCampaignMax},
                                                          [&] { return RunSeeds(arguments); });
  if (end.was_killed) {
    std::cout << "\nFAILED: seed " << *seed_of_child << ": ended by signal " << end.code << "\n";
  }
  return end.is_good() == arguments.expects_failure ? 1 : 0;
}

}  // namespace
}  // namespace fairlock::fleet

int main(int argc, char** argv) {
  using namespace fairlock::fleet;
  CLI::App app("Runs a fleet on a modelled etcd in virtual time, from seeds.");
  Arguments arguments;
  app.add_option("--seed,--seeds", arguments.seeds, "one seed N, or all from A to B: A..B")
      ->capture_default_str();
  app.add_option("--fault", arguments.fault, "switch a deliberate fault on")->capture_default_str();
  app.add_flag("--partitions", arguments.has_partitions,
               "only fleets of several partitions, instead of one seed in four");
  app.add_flag("--trace", arguments.has_trace, "print the whole history of a seed that fails");
  app.add_flag("--twice", arguments.runs_twice, "run each seed twice and compare the histories");
  app.add_flag("--expect-failure", arguments.expects_failure,
               "exit 0 if a seed fails, 1 if none does");
  CLI11_PARSE(app, argc, argv);
  constexpr std::string_view kProgram = "fairlock_fleet_sim";
  using fairlock::simulation::kBadArguments;
  if (!fairlock::simulation::ParseSeeds(kProgram, arguments.seeds, arguments.first,
                                        arguments.last)) {
    return kBadArguments;
  }
  if (!fairlock::simulation::ActivateFault(kProgram, arguments.fault)) return kBadArguments;
  return RunCampaign(arguments);
}
