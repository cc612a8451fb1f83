#include "tests/simulation/setting.h"

#include <algorithm>

#include "tests/simulation/random.h"

namespace fairlock::simulation {
namespace {

// Picks lengths around which memory layouts change: names are never empty, and small-string buffers
// end at 15/16 and 22/23 bytes.
std::size_t NameLength(Random& random, std::size_t max) {
  constexpr std::array<std::size_t, 12> kLengths = {1, 2, 7, 8, 15, 16, 19, 22, 23, 32, 64, 255};
  if (random.OneIn(40)) return max;
  if (random.OneIn(20)) return static_cast<std::size_t>(random.Between(256, 1000));
  return std::min(max, kLengths[random.Below(kLengths.size())]);
}

// The name may contain any bytes, and often has a prefix in common with other names.
std::string MakeName(Random& random, char first, std::size_t length) {
  std::string name(length, first);
  if (random.OneIn(3)) return name;
  for (std::size_t i = length / 2; i < length; ++i) name[i] = static_cast<char>(random.Next());
  return name;
}

std::vector<std::string> MakeNames(Random& random, char first, std::size_t count, std::size_t max) {
  std::vector<std::string> names;
  while (names.size() < count) {
    std::size_t length = NameLength(random, max);
    if (count > 64) length = std::max<std::size_t>(length, 8);
    std::string name = MakeName(random, first, length);
    // Only few distinct names repeat a single byte, so a number is appended when necessary.
    if (std::ranges::count(names, name) > 0) name += std::to_string(names.size());
    if (name.size() <= max && std::ranges::count(names, name) == 0) names.push_back(name);
  }
  return names;
}

void MakeKeys(Random& random, std::size_t count, Setting& setting) {
  const std::vector<std::string> names = MakeNames(random, 'k', count, engine::kKeyBytesMax);
  // MLOCK names keys of one database only.
  const bool is_one_database = !random.OneIn(3);
  for (const std::string& name : names) {
    const bool is_first = is_one_database || random.OneIn(2);
    const auto db = static_cast<std::uint8_t>(is_first ? 0 : random.Below(16));
    setting.keys.push_back({.db = db, .bytes = name});
  }
  // The same bytes in another database are a different key.
  if (count > 1 && random.OneIn(2)) {
    setting.keys[1] = {.db = static_cast<std::uint8_t>((setting.keys[0].db + 1) % 16),
                       .bytes = setting.keys[0].bytes};
  }
}

// Some patterns match one key and some match many; two patterns may match a key equally well.
void MakePatterns(Random& random, Setting& setting) {
  setting.patterns.push_back({.db = setting.keys[0].db, .literal = "", .has_star = true});
  for (std::size_t i = 0; i < 8; ++i) {
    const KeyText& key = setting.keys[random.Below(std::min<std::size_t>(setting.keys.size(), 3))];
    const std::size_t length = random.Below(key.bytes.size() + 1);
    PatternText pattern{.db = key.db, .literal = key.bytes};
    switch (random.Below(3)) {
      case 0:
        break;
      case 1:
        pattern.literal = key.bytes.substr(0, length);
        pattern.has_star = true;
        break;
      default:
        pattern.literal = key.bytes.substr(length);
        pattern.has_star = true;
        pattern.is_star_first = true;
    }
    // However they came about, equal patterns are the same pattern for the engine, so only one is
    // kept.
    const bool is_there = std::ranges::any_of(setting.patterns, [&](const PatternText& other) {
      return other.db == pattern.db && other.glob() == pattern.glob();
    });
    if (!is_there) setting.patterns.push_back(pattern);
  }
}

void MakeTexts(Random& random, Setting& setting) {
  setting.metas = {"", "{}", std::string(15, 'm'), std::string(100, 'n')};
  setting.metas.push_back(std::string(random.OneIn(8) ? engine::kMetaBytesMax : 300, 'o'));
  setting.labels = {"a", "job.nightly", std::string(16, 'l'),
                    std::string(engine::kLabelBytesMax, 'z')};
  setting.channels = {"n", "outcomes:worker-1", std::string(100, 'c')};
}

void MakeWeights(Random& random, Setting& setting) {
  for (std::size_t i = 0; i < kOperationCount; ++i) {
    setting.weights[i] = UsualWeightOf(static_cast<Operation>(i));
  }
  // Half of the seeds have no overrides, so that bounds that overrides would loosen are tested,
  // too.
  if (random.OneIn(2)) {
    setting.weights[static_cast<std::size_t>(Operation::kSetLimit)] = 0;
  }
  // Half have no shortage of memory, and half have no shortage of disk space.
  for (const Operation shortage : {Operation::kSetShortage, Operation::kSetNoRoom}) {
    if (random.OneIn(2)) setting.weights[static_cast<std::size_t>(shortage)] = 0;
  }
  // Half have no Redis clients.
  const bool knows_redis = random.OneIn(2);
  for (std::size_t i = 0; i < kOperationCount && !knows_redis; ++i) {
    if (IsRedis(static_cast<Operation>(i))) setting.weights[i] = 0;
  }
  if (random.OneIn(4)) return;
  for (std::uint64_t& weight : setting.weights) weight *= random.Below(4);
  // Without these operations, nothing would ever happen.
  for (Operation needed : {Operation::kLock, Operation::kUnlock, Operation::kAdvance}) {
    std::uint64_t& weight = setting.weights[static_cast<std::size_t>(needed)];
    weight = std::max<std::uint64_t>(weight, 8);
  }
}

void MakeOptions(Random& random, Setting& setting) {
  engine::EngineOptions& options = setting.engine;
  options.default_lease_ms = random.OneIn(2) ? 30'000 : random.Magnitude(60'000);
  options.first_token = random.OneIn(2) ? 1 : random.Below(engine::Token{1} << 52) + 1;
  options.hash_seed = random.Next();
  if (random.OneIn(10)) options.locks_max = random.Below(setting.keys.size()) + 1;
  if (random.OneIn(10)) {
    options.places_max = random.Below(6) + 1;
    // No answer shows which absent places a lagging Advance has ended, but with this bound every
    // place matters.
    setting.is_lagging = false;
  }
  options.grants_of_a_turn = ~std::size_t{0};  // the model grants at once
  if (random.OneIn(10)) options.places_per_key_max = random.Below(4) + 1;
  if (random.OneIn(10)) options.claims_per_client_max = random.Below(5) + 1;
  const bool is_bounded =
      options.places_per_key_max != ~0ULL || options.claims_per_client_max != ~0ULL;
  // With these bounds, too, every place matters, so Advance must not lag.
  if (is_bounded) setting.is_lagging = false;
  if (random.OneIn(10)) options.limit_overrides_max = random.Below(3);
  options.ends_native_leases = random.OneIn(4);
  options.reconnect_grace_ms = random.OneIn(3) ? 0 : random.Magnitude(5'000);
  if (random.OneIn(2)) options.reconnect_grace_ms %= 50;
  setting.start = random.OneIn(3) ? random.Between(0, 2) : random.Magnitude(TimeMs{1} << 36);
}

// KEEP is often longer than the pauses between a client's polls, and sometimes longer than allowed.
void MakeKeepChoices(Random& random, Setting& setting) {
  if (random.OneIn(2)) return;
  setting.engine.keep_ms_max = random.OneIn(4) ? random.Between(1, 2'000) : 60'000;
  const std::size_t count = 1 + random.Below(2);
  std::vector<engine::KeepRule> rules;
  for (std::size_t i = 0; i < count; ++i) {
    KeepChoice choice{.pattern = setting.patterns[random.Below(setting.patterns.size())]};
    // The first pattern is the one that matches all keys.
    if (random.OneIn(2)) choice.pattern = setting.patterns.front();
    choice.keep_ms = random.OneIn(3) ? random.Between(0, 20) : random.Magnitude(90'000);
    setting.keep_choices.push_back(choice);
    rules.push_back({.pattern = choice.pattern.glob(), .keep_ms = choice.keep_ms});
  }
  setting.engine.keep_rules.Set(std::move(rules));
}

OptionMix MakeOptionMix(Random& random) {
  const auto likelihood = [&] {
    constexpr std::array<int, 6> kLikelihoods = {0, 0, 1, 2, 4, 7};
    return kLikelihoods[random.Below(kLikelihoods.size())];
  };
  OptionMix mix;
  mix.keep = likelihood();
  mix.shared = likelihood();
  mix.session = likelihood();
  mix.min_hold = likelihood();
  mix.waiters_max = likelihood();
  mix.notify = likelihood();
  return mix;
}

// Rules interact when there are few keys and few owners; sometimes there is a long queue instead,
// or a table that grows and shrinks.
void MakeSizes(Random& random, Setting& setting) {
  std::size_t keys = 2 + random.Below(5);
  std::size_t owners = 3 + random.Below(10);
  setting.connections = static_cast<int>(random.Between(3, 16));
  if (random.OneIn(20)) {
    keys = 1;
    owners = 50;
    setting.connections = kConnectionsMax;
  } else if (random.OneIn(20)) {
    keys = 300;
    owners = 20;
    setting.is_wide = true;
  }
  MakeKeys(random, keys, setting);
  setting.owners = MakeNames(random, 'w', owners, random.OneIn(5) ? engine::kOwnerBytesMax : 255);
}

}  // namespace

bool PatternText::Matches(const KeyText& key) const {
  return key.db == db && MatchesBytes(key.bytes);
}

bool PatternText::MatchesBytes(const std::string& bytes) const {
  if (!has_star) return bytes == literal;
  return is_star_first ? bytes.ends_with(literal) : bytes.starts_with(literal);
}

std::string PatternText::glob() const {
  std::string text = has_star && is_star_first ? "*" : "";
  for (const char c : literal) {
    if (std::string_view("*?[]\\^-").find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  if (has_star && !is_star_first) text += '*';
  return text;
}

DurationMs Setting::KeepOf(int key) const {
  const std::string& bytes = keys[static_cast<std::size_t>(key)].bytes;
  for (const KeepChoice& choice : keep_choices) {
    if (choice.pattern.MatchesBytes(bytes)) return std::min(choice.keep_ms, engine.keep_ms_max);
  }
  return 0;
}

const std::string& Setting::TextOf(const std::vector<std::string>& texts, int index) const {
  static const std::string kNothing;
  return index == kAbsent ? kNothing : texts[static_cast<std::size_t>(index)];
}

Setting MakeSetting(std::uint64_t seed) {
  Random random(seed * 2 + 1);
  Setting setting;
  setting.seed = seed;
  setting.is_lagging = seed % 2 == 1;
  MakeSizes(random, setting);
  MakePatterns(random, setting);
  MakeTexts(random, setting);
  MakeOptions(random, setting);
  MakeWeights(random, setting);
  const auto weight_of = [&](Operation operation) {
    return setting.weights[static_cast<std::size_t>(operation)];
  };
  setting.time_scale = static_cast<TimeScale>(random.Below(3));
  setting.limit_mix = static_cast<LimitMix>(random.Below(3));
  setting.uniform_limit = static_cast<std::uint32_t>(random.Between(2, 5));
  setting.option_mix = MakeOptionMix(random);
  MakeKeepChoices(random, setting);
  // No answer shows which queues a lagging Advance has examined. This matters where an MLOCK
  // connects queues, and for the order of tokens where NOTIFY causes many grants.
  const bool has_far_lines = weight_of(Operation::kMlock) > 0 || setting.option_mix.notify > 0;
  if (weight_of(Operation::kSetLimit) > 0 && has_far_lines) setting.is_lagging = false;
  return setting;
}

}  // namespace fairlock::simulation
