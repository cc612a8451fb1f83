#include "tests/simulation/campaign.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <iostream>
#include <numeric>

#include "tests/simulation/isolated_run.h"
#include "tests/simulation/narration.h"
#include "tests/simulation/shortener.h"

namespace fairlock::simulation {
namespace {

constexpr int kFailureCode = 3;
constexpr unsigned kSecondsOfSeedMax = 60;
constexpr unsigned kSecondsOfAttemptMax = 5;
constexpr std::size_t kAttemptsMax = 2000;
// Few attempts, because each one that hangs takes the full time limit.
constexpr std::size_t kAttemptsMaxOfHang = 12;

// Written by the child that runs seeds. The parent reads it once the child has ended, however it
// ended.
struct Progress {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint64_t seeds_done = 0;
  std::uint64_t steps_done = 0;
  std::uint64_t trace_hash = 0;
  char text[8192] = {};

  void Tell(const std::string& what) {
    const std::size_t length = std::min(what.size(), sizeof(text) - 1);
    std::memcpy(text, what.data(), length);
    text[length] = '\0';
  }
};

// Memory that parent and child share.
class SharedProgress {
 public:
  SharedProgress() {
    void* memory =
        mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert(memory != MAP_FAILED);
    progress_ = new (memory) Progress();
  }
  SharedProgress(const SharedProgress&) = delete;
  SharedProgress& operator=(const SharedProgress&) = delete;
  ~SharedProgress() { munmap(progress_, sizeof(Progress)); }

  Progress& operator*() { return *progress_; }
  Progress* operator->() { return progress_; }

 private:
  Progress* progress_;
};

double CpuSecondsOfChildren() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::vector<std::size_t> AllIndices(std::size_t count) {
  std::vector<std::size_t> indices(count);
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  return indices;
}

class Campaign {
 public:
  explicit Campaign(const CampaignOptions& options) : options_(options) {}

  CampaignReport Run() {
    const double cpu_before = CpuSecondsOfChildren();
    const ChildEnd end = RunInChild({}, [this] { return RunSeeds(); });
    CampaignReport report;
    report.cpu_seconds = CpuSecondsOfChildren() - cpu_before;
    report.has_failed = !end.is_good();
    report.seeds = progress_->seeds_done;
    report.steps = progress_->steps_done;
    report.trace_hash = progress_->trace_hash;
    if (report.has_failed) Explain(end);
    return report;
  }

 private:
  std::vector<std::size_t> WantedIndices() const {
    return options_.only.empty() ? AllIndices(options_.steps) : options_.only;
  }

  // Runs in the child.
  int RunSeeds() {
    for (std::uint64_t seed = options_.first_seed; seed <= options_.last_seed; ++seed) {
      LimitTime(kSecondsOfSeedMax);
      progress_->seed = seed;
      if (!RunSeed(seed)) return kFailureCode;
      ++progress_->seeds_done;
    }
    return 0;
  }

  bool RunSeed(std::uint64_t seed) {
    const Setting setting = MakeSetting(seed);
    const std::vector<Step> steps = GenerateSteps(setting, options_.steps);
    SimulatorOptions options{.judges = options_.judges};
    options.on_step = [this](std::size_t step) {
      progress_->step = step;
      ++progress_->steps_done;
    };
    if (options_.has_trace) {
      std::cout << Narrate(setting) << "\n";
      options.trace = &std::cout;
    }
    const RunReport report = RunIndices(setting, steps, options);
    if (report.failure) {
      progress_->step = report.failure->step;
      progress_->Tell(report.failure->text);
      return false;
    }
    progress_->trace_hash = progress_->trace_hash * 0x100000001b3ULL ^ report.trace_hash;
    options.trace = nullptr;
    if (options_.runs_twice &&
        RunIndices(setting, steps, options).trace_hash != report.trace_hash) {
      progress_->Tell("a second run has another trace");
      return false;
    }
    return true;
  }

  RunReport RunIndices(const Setting& setting, const std::vector<Step>& steps,
                       const SimulatorOptions& options) const {
    return Simulator(setting, options).Run(steps, WantedIndices());
  }

  void Explain(const ChildEnd& end) {
    std::cout << "\nFAILED: seed " << progress_->seed << " at step " << progress_->step << "\n";
    if (end.was_killed) {
      std::cout << "ended by signal " << end.code << " (" << strsignal(end.code) << ")\n";
    } else if (end.code == kFailureCode) {
      std::cout << progress_->text << "\n";
    } else {
      std::cout << "ended with code " << end.code << "\n";
    }
    const bool is_hang = end.was_killed && end.code == kTimeOver;
    const Setting setting = MakeSetting(progress_->seed);
    const std::vector<Step> steps = GenerateSteps(setting, options_.steps);
    std::vector<std::size_t> indices = WantedIndices();
    std::erase_if(indices, [this](std::size_t index) { return index > progress_->step; });
    const auto fails = [&](const std::vector<std::size_t>& some) {
      return !RunQuietly(setting, steps, some);
    };
    if (!fails(indices)) {
      std::cout << "it does not fail again by itself\n";
      return;
    }
    indices = Shorten(std::move(indices), is_hang ? kAttemptsMaxOfHang : kAttemptsMax, fails);
    Show(setting, steps, indices);
  }

  bool RunQuietly(const Setting& setting, const std::vector<Step>& steps,
                  const std::vector<std::size_t>& indices) const {
    const ChildOptions options{.is_quiet = true, .seconds_max = kSecondsOfAttemptMax};
    return RunInChild(options,
                      [&] {
                        const SimulatorOptions judged{.judges = options_.judges};
                        return Simulator(setting, judged).Run(steps, indices).failure ? kFailureCode
                                                                                      : 0;
                      })
        .is_good();
  }

  void Show(const Setting& setting, const std::vector<Step>& steps,
            const std::vector<std::size_t>& indices) const {
    std::cout << "shortened to " << indices.size() << " steps of\n" << Narrate(setting) << "\n";
    const ChildOptions options{.is_quiet = true, .seconds_max = kSecondsOfAttemptMax};
    RunInChild(options, [&] {
      const SimulatorOptions traced{.judges = options_.judges, .trace = &std::cout};
      const RunReport report = Simulator(setting, traced).Run(steps, indices);
      if (report.failure) std::cout << report.failure->text << "\n";
      return 0;
    });
    std::cout << "\nreplay: " << options_.program << " --seed " << setting.seed << " --steps "
              << options_.steps << " --only " << FormatIndices(indices) << " --trace\n";
  }

  CampaignOptions options_;
  SharedProgress progress_;
};

}  // namespace

CampaignReport RunCampaign(const CampaignOptions& options) { return Campaign(options).Run(); }

}  // namespace fairlock::simulation
