#include "server/config/live_settings.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "server/command/table/text.h"
#include "server/config/config_options.h"

namespace fairlock::server {

namespace {

const Option* FindByAnyName(std::string_view name) {
  for (const Option& option : AllOptions()) {
    if (name == option.name || (!name.empty() && name == option.redis_name)) return &option;
  }
  return nullptr;
}

}  // namespace

LiveSettings::LiveSettings(command::ServerFacts& facts, Config config, Apply apply)
    : facts_(facts), config_(std::move(config)), apply_(std::move(apply)) {
  facts_.tcp_port = static_cast<std::uint16_t>(config_.port);
  facts_.connections_max = static_cast<std::uint32_t>(config_.max_clients);
}

std::vector<command::Setting> LiveSettings::FindSettings(const engine::Glob& name_glob) const {
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

std::string LiveSettings::ChangeSetting(std::string_view name, std::string_view value) {
  const Option* option = FindByAnyName(name);
  if (option == nullptr) return "there is no such option";
  if (!option->is_changeable) return "can't set immutable config: it is read only at startup";
  Config changed = config_;
  if (!SetOption(*option, value, changed).empty()) return DescribeMistake(*option, value);
  return PutInForce(std::move(changed));
}

std::string LiveSettings::PutInForce(Config changed) {
  std::string why = apply_(changed);
  if (!why.empty()) return why;
  config_ = std::move(changed);
  facts_.connections_max = static_cast<std::uint32_t>(config_.max_clients);
  return "";
}

LiveSettings::Reloaded LiveSettings::Reload(const Config& fresh) {
  Reloaded reloaded;
  Config changed = config_;
  for (const Option& option : AllOptions()) {
    const std::string value = ShowOption(option, fresh);
    if (value == ShowOption(option, config_)) continue;
    if (option.is_changeable) {
      reloaded.error = SetOption(option, value, changed);
      assert(reloaded.error.empty());  // values were validated when the file was read
    } else {
      reloaded.ignored.emplace_back(option.name);
    }
  }
  reloaded.error = PutInForce(std::move(changed));
  return reloaded;
}

}  // namespace fairlock::server
