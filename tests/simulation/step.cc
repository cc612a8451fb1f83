#include "tests/simulation/step.h"

#include <algorithm>
#include <numeric>

#include "tests/simulation/random.h"

namespace fairlock::simulation {
namespace {

constexpr DurationMs kDay = 24LL * 3600 * 1000;

class StepGenerator {
 public:
  explicit StepGenerator(const Setting& setting)
      : setting_(setting),
        random_(setting.seed * 2 + 2),
        weight_sum_(std::accumulate(setting.weights.begin(), setting.weights.end(), 0ULL)) {}

  Step Next() {
    Step step;
    step.operation = PickOperation();
    step.connection = static_cast<int>(random_.Below(kConnectionsMax));
    step.prefers_waiting_connection = !random_.OneIn(3);
    step.key = PickKey();
    PickMoreKeys(step);
    step.owner = PickOwner();
    step.new_owner = PickOwner();
    step.owner_choice = PickOwnerChoice(step.operation);
    step.token_choice = PickToken();
    PickTexts(step);
    PickLock(step);
    PickRedis(step);
    PickTime(step);
    step.has_owner = !random_.OneIn(3);
    step.undone = random_.OneIn(2) ? 0 : random_.Below(4);
    step.pattern = static_cast<int>(random_.Below(setting_.patterns.size()));
    step.start = random_.Below(4);
    step.count = random_.Below(6);
    step.channel = static_cast<int>(random_.Below(setting_.channels.size()));
    step.only_lengthens = random_.OneIn(2);
    step.has_notify = random_.Below(8) < static_cast<std::uint64_t>(setting_.option_mix.notify);
    return step;
  }

 private:
  Operation PickOperation() {
    std::uint64_t left = random_.Below(weight_sum_);
    std::size_t index = 0;
    while (left >= setting_.weights[index]) left -= setting_.weights[index++];
    return static_cast<Operation>(index);
  }

  // Picks the first keys more often than the others, so that queues build up.
  int PickKey() {
    const std::size_t keys = setting_.keys.size();
    const std::size_t some = random_.OneIn(2) ? 1 : 2;
    return static_cast<int>(random_.Below(random_.OneIn(3) ? keys : std::min(keys, some)));
  }

  void PickMoreKeys(Step& step) {
    const bool names_several =
        step.operation == Operation::kMlock || step.operation == Operation::kMrenew ||
        step.operation == Operation::kMunlock || step.operation == Operation::kMsetNx;
    if (!names_several) return;
    const std::uint64_t wanted = random_.OneIn(12) ? 0 : 1 + random_.Below(3);
    for (std::uint64_t attempt = 0; attempt < wanted + 4; ++attempt) {
      const int key = random_.OneIn(2) ? PickKey() : PickAnyKey();
      const bool is_new = key != step.key && std::ranges::count(step.more_keys, key) == 0;
      const auto db = [&](int index) { return setting_.keys[static_cast<std::size_t>(index)].db; };
      if (!is_new || db(key) != db(step.key) || step.more_keys.size() >= wanted) continue;
      step.more_keys.push_back(key);
    }
    step.repeats_keys = !random_.OneIn(4);
    step.reverses_keys = random_.OneIn(3);
    step.avoids_stakes = !random_.OneIn(4);
  }

  int PickAnyKey() { return static_cast<int>(random_.Below(setting_.keys.size())); }

  // Most owners that request a lock do not hold it, and most that release one do.
  OwnerChoice PickOwnerChoice(Operation operation) {
    const bool is_usual = random_.OneIn(2);
    const bool asks = operation == Operation::kLock || operation == Operation::kMlock ||
                      operation == Operation::kSet;
    if (is_usual && asks) return OwnerChoice::kAny;
    if (is_usual && operation == Operation::kCancel) return OwnerChoice::kWaiter;
    if (is_usual) return OwnerChoice::kHolder;
    return static_cast<OwnerChoice>(random_.Below(3));
  }

  int PickOwner() { return static_cast<int>(random_.Below(setting_.owners.size())); }

  TokenChoice PickToken() {
    if (!random_.OneIn(3)) return TokenChoice::kNone;
    return static_cast<TokenChoice>(1 + random_.Below(3));
  }

  void PickTexts(Step& step) {
    if (random_.OneIn(3)) step.meta = static_cast<int>(random_.Below(setting_.metas.size()));
    if (random_.OneIn(4)) step.label = static_cast<int>(random_.Below(setting_.labels.size()));
  }

  void PickLock(Step& step) {
    step.only_new = random_.OneIn(8);
    step.limit = PickLimit();
    step.has_lease = !random_.OneIn(6);
    step.lease_ms = std::min(PickDuration(), engine::kLeaseMsMax);
    const std::uint64_t kind = random_.Below(8);
    step.wait_ms = kind < 2 ? 0 : kind == 2 ? engine::kForever : PickDuration();
    if (random_.OneIn(300)) step.wait_ms = random_.Between(1, engine::kForever - 1);
    PickOptions(step);
  }

  // The probability of each option depends on the seed, so that some seeds have many and some have
  // none.
  void PickOptions(Step& step) {
    const OptionMix& mix = setting_.option_mix;
    const auto is_wanted = [&](int likelihood) {
      return random_.Below(8) < static_cast<std::uint64_t>(likelihood);
    };
    const bool is_shared = is_wanted(mix.shared);
    if (is_shared) step.limit = 0;
    step.is_shared = is_shared;
    if (is_wanted(mix.keep)) step.keep_ms = std::min(PickDuration(), setting_.engine.keep_ms_max);
    // A client that polls with KEEP does not wait.
    if (step.keep_ms > 0 && random_.OneIn(2)) step.wait_ms = 0;
    step.has_session = is_wanted(mix.session);
    // A request with SESSION usually gives no lease.
    if (step.has_session && !random_.OneIn(3)) step.has_lease = false;
    if (!random_.OneIn(3)) step.grace_ms = PickDuration();
    if (is_wanted(mix.min_hold)) step.min_hold_ms = PickDuration();
    if (is_wanted(mix.waiters_max)) step.waiters_max = static_cast<int>(random_.Below(5));
    step.replaces_newest = !random_.OneIn(3);
  }

  std::uint32_t PickLimit() {
    if (setting_.limit_mix == LimitMix::kNone) return random_.OneIn(8) ? 1 : 0;
    if (setting_.limit_mix == LimitMix::kUniform && !random_.OneIn(20)) {
      return setting_.uniform_limit;
    }
    if (random_.OneIn(30)) return engine::kLimitMax;
    return static_cast<std::uint32_t>(random_.Below(5));
  }

  void PickRedis(Step& step) {
    if (!IsRedis(step.operation)) return;
    step.only_new = step.operation == Operation::kSet && !random_.OneIn(3);
    step.only_held = random_.OneIn(6);
    step.is_rename = random_.OneIn(4);
    step.is_past = random_.OneIn(12);
    // Most written holds have an end.
    step.written_end = random_.OneIn(3) ? static_cast<engine::WrittenEnd>(random_.Below(3))
                                        : engine::WrittenEnd::kAfter;
    if (step.is_rename) step.written_end = engine::WrittenEnd::kKept;
    if (random_.OneIn(2)) step.condition = static_cast<ExpiryCondition>(random_.Below(5));
  }

  DurationMs PickDuration() {
    switch (setting_.time_scale) {
      case TimeScale::kTight:
        return random_.Between(1, 20);
      case TimeScale::kUsual:
        return random_.OneIn(4) ? random_.Between(1, 100) : random_.Between(1, 60) * 500;
      case TimeScale::kWide:
        return random_.Magnitude(random_.OneIn(10) ? 365 * kDay : 600'000);
    }
    return 1;
  }

  void PickTime(Step& step) {
    const std::uint64_t kind = random_.Below(10);
    if (kind < 6) {
      step.time_choice = kind < 2 ? TimeChoice::kNextDeadline : TimeChoice::kTrueDeadline;
      step.time_ms = random_.Between(-1, 2);
    } else if (kind < 9) {
      step.time_ms = random_.OneIn(4) ? 0 : PickDuration() / 4 + 1;
    } else {
      step.time_ms = random_.OneIn(20) ? random_.Between(1, 400) * kDay : PickDuration() * 2;
    }
    step.steps_max = setting_.is_lagging ? 1 + random_.Below(8) : 1'000'000;
    step.until_done = !setting_.is_lagging || random_.OneIn(10);
  }

  const Setting& setting_;
  Random random_;
  std::uint64_t weight_sum_;
};

}  // namespace

std::vector<Step> GenerateSteps(const Setting& setting, std::size_t count) {
  StepGenerator generator(setting);
  std::vector<Step> steps(count);
  for (Step& step : steps) step = generator.Next();
  return steps;
}

}  // namespace fairlock::simulation
