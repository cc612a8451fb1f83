// fairlock_sim: runs the lock engine against its reference model, from seeds.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <string>

#include "tests/simulation/arguments.h"
#include "tests/simulation/campaign.h"
#include "tests/simulation/shortener.h"

namespace fairlock::simulation {
namespace {

struct Arguments {
  std::string seeds = "1..100";
  std::string fault = "none";
  std::string only;
  std::string judge = "all";
  bool expects_failure = false;
  CampaignOptions campaign;
};

void DeclareOptions(CLI::App& app, Arguments& arguments) {
  app.add_option("--seed,--seeds", arguments.seeds, "one seed N, or all from A to B: A..B")
      ->capture_default_str();
  app.add_option("--steps", arguments.campaign.steps, "steps of each seed")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000'000));
  app.add_option("--only", arguments.only, "of one seed, only these steps: 3,5-9");
  app.add_option("--fault", arguments.fault,
                 "switch a deliberate fault of the engine on (fairlock_sim_faults)")
      ->capture_default_str();
  app.add_option("--judge", arguments.judge, "who says whether a run is right")
      ->capture_default_str()
      ->check(CLI::IsMember({"all", "model", "ledger", "invariants"}));
  app.add_flag("--trace", arguments.campaign.has_trace, "print each step and what came of it");
  app.add_flag("--twice", arguments.campaign.runs_twice,
               "run each seed twice and compare the traces");
  app.add_flag("--expect-failure", arguments.expects_failure,
               "exit 0 if a seed fails, 1 if none does");
}

bool CheckArguments(Arguments& arguments, const std::string& program) {
  CampaignOptions& campaign = arguments.campaign;
  if (!ParseSeeds("fairlock_sim", arguments.seeds, campaign.first_seed, campaign.last_seed)) {
    return false;
  }
  if (!arguments.only.empty()) {
    arguments.campaign.only = ParseIndices(arguments.only);
    const auto& only = arguments.campaign.only;
    if (only.empty() || std::ranges::max(only) >= arguments.campaign.steps) {
      std::cerr << "fairlock_sim: --only '" << arguments.only
                << "' is not a list of steps, 3,5-9, below --steps\n";
      return false;
    }
  }
  if (arguments.judge != "all") {
    arguments.campaign.judges = {.has_model = arguments.judge == "model",
                                 .has_ledger = arguments.judge == "ledger",
                                 .has_invariants = arguments.judge == "invariants"};
  }
  arguments.campaign.program = program;
  if (arguments.judge != "all") arguments.campaign.program += " --judge " + arguments.judge;
  if (arguments.fault != "none") arguments.campaign.program += " --fault " + arguments.fault;
  return ActivateFault("fairlock_sim", arguments.fault);
}

int Run(const Arguments& arguments) {
  const CampaignReport report = RunCampaign(arguments.campaign);
  const double rate = static_cast<double>(report.steps) / std::max(report.cpu_seconds, 1e-6);
  std::cout << report.seeds << " seeds, " << report.steps << " steps, " << std::fixed
            << std::setprecision(2) << report.cpu_seconds << " s of CPU, " << std::setprecision(0)
            << rate << " steps/s, trace " << std::hex << report.trace_hash << std::dec
            << (report.has_failed ? ", one FAILED" : ", none failed") << "\n";
  return report.has_failed == arguments.expects_failure ? 0 : 1;
}

}  // namespace
}  // namespace fairlock::simulation

int main(int argc, char** argv) {
  using namespace fairlock::simulation;
  CLI::App app("Runs the lock engine against its reference model, from seeds.");
  Arguments arguments;
  DeclareOptions(app, arguments);
  CLI11_PARSE(app, argc, argv);
  if (!CheckArguments(arguments, argv[0])) return kBadArguments;
  return Run(arguments);
}
