#include "server/process_environment.h"

#include <sys/resource.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "server/command/text.h"
#include "server/config_options.h"
#include "server/net/clock.h"

namespace fairlock::server {

namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

const Option* FindByAnyName(std::string_view name) {
  for (const Option& option : AllOptions()) {
    if (name == option.name || (!name.empty() && name == option.redis_name)) return &option;
  }
  return nullptr;
}

}  // namespace

ProcessEnvironment::ProcessEnvironment(command::ServerFacts facts, Config config,
                                       EnvironmentHooks hooks)
    : facts_(std::move(facts)),
      config_(std::move(config)),
      hooks_(std::move(hooks)),
      started_ns_(net::MonotonicNs()),
      started_ticks_(net::Ticks()) {
  facts_.tcp_port = static_cast<std::uint16_t>(config_.port);
  facts_.connections_max = static_cast<std::uint32_t>(config_.max_clients);
}

std::int64_t ProcessEnvironment::UnixTimeUs() const { return net::UnixTimeUs(); }

std::uint64_t ProcessEnvironment::MonotonicNs() const { return net::MonotonicNs(); }

std::uint64_t ProcessEnvironment::Ticks() const { return net::Ticks(); }

double ProcessEnvironment::NsPerTick() const {
  const std::uint64_t ticks = net::Ticks() - started_ticks_;
  const std::uint64_t ns = net::MonotonicNs() - started_ns_;
  return ticks == 0 ? 1 : static_cast<double>(ns) / static_cast<double>(ticks);
}

command::ResourceUse ProcessEnvironment::Resources() const {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {.user_cpu_seconds = Seconds(usage.ru_utime),
          .system_cpu_seconds = Seconds(usage.ru_stime),
          .resident_bytes = MemoryMeter::ResidentBytes(),
          .allocated_bytes = MemoryMeter::AllocatedBytes()};
}

std::uint64_t ProcessEnvironment::MemoryInUse(bool asks_anew) {
  return asks_anew ? memory_.Measure() : memory_.Estimate();
}

std::vector<command::Setting> ProcessEnvironment::FindSettings(
    const engine::Glob& name_glob) const {
  std::vector<command::Setting> found;
  for (const Option& option : AllOptions()) {
    if (name_glob.Matches(option.name)) {
      found.push_back({.name = std::string(option.name),
                       .value = ShowOption(option, config_),
                       .is_secret = option.is_secret,
                       .name_of_option = std::string(option.name),
                       .default_value = std::string(option.default_value),
                       .comment = std::string(option.comment),
                       .is_changeable = option.is_changeable});
    }
    const bool has_other_name = !option.redis_name.empty() && option.redis_name != option.name;
    if (has_other_name && name_glob.Matches(option.redis_name)) {
      found.push_back({.name = std::string(option.redis_name),
                       .value = ShowOptionAsRedis(option, config_),
                       .is_secret = option.is_secret,
                       .name_of_option = std::string(option.name)});
    }
  }
  return found;
}

std::string ProcessEnvironment::ChangeSetting(std::string_view name, std::string_view value) {
  const Option* option = FindByAnyName(name);
  if (option == nullptr) return "there is no such option";
  if (!option->is_changeable) return "can't set immutable config: it is read at the start";
  Config changed = config_;
  if (!SetOption(*option, value, changed).empty()) return DescribeMistake(*option, value);
  std::string why = hooks_.apply(changed);
  if (!why.empty()) return why;
  config_ = std::move(changed);
  facts_.connections_max = static_cast<std::uint32_t>(config_.max_clients);
  return "";
}

ProcessEnvironment::Reloaded ProcessEnvironment::Reload(const Config& fresh) {
  Reloaded reloaded;
  Config changed = config_;
  for (const Option& option : AllOptions()) {
    const std::string value = ShowOption(option, fresh);
    if (value == ShowOption(option, config_)) continue;
    if (option.is_changeable) {
      reloaded.error = SetOption(option, value, changed);
      assert(reloaded.error.empty());  // the file was judged when it was read
    } else {
      reloaded.ignored.emplace_back(option.name);
    }
  }
  reloaded.error = hooks_.apply(changed);
  if (!reloaded.error.empty()) return reloaded;
  config_ = std::move(changed);
  facts_.connections_max = static_cast<std::uint32_t>(config_.max_clients);
  return reloaded;
}

}  // namespace fairlock::server
