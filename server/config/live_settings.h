// The options as they are now, and their change while the server runs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/command/environment/environment.h"
#include "server/config/config.h"

namespace fairlock::server {

// Loop-confined.
class LiveSettings final : public command::Settings {
 public:
  // Puts a changed configuration in force. Empty: done; otherwise why it cannot be in force.
  using Apply = std::function<std::string(const Config&)>;

  // Keeps `facts` in step with the options. `facts` must outlive it.
  LiveSettings(command::ServerFacts& facts, Config config, Apply apply);

  std::vector<command::Setting> FindSettings(const engine::Glob& name_glob) const override;
  std::string ChangeSetting(std::string_view name, std::string_view value) override;

  const Config& config() const { return config_; }

  struct Reloaded {
    std::string error;                 // nothing was changed
    std::vector<std::string> ignored;  // options that differ, but are read only at the start
  };
  // Takes over those options that may change while the server runs.
  Reloaded Reload(const Config& fresh);

 private:
  std::string PutInForce(Config changed);

  command::ServerFacts& facts_;
  Config config_;
  const Apply apply_;
};

}  // namespace fairlock::server
