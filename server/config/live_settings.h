// The options in force, and changes to them while the server runs.
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
  // Applies a changed configuration. Returns an empty string, or why it cannot be applied.
  using Apply = std::function<std::string(const Config&)>;

  // Updates `facts` whenever options change. `facts` must outlive this object.
  LiveSettings(command::ServerFacts& facts, Config config, Apply apply);

  std::vector<command::Setting> FindSettings(const engine::Glob& name_glob) const override;
  std::string ChangeSetting(std::string_view name, std::string_view value) override;

  const Config& config() const { return config_; }

  struct Reloaded {
    std::string error;                 // if not empty, nothing was changed
    std::vector<std::string> ignored;  // changed options that only a restart can apply
  };
  // Applies the changeable options of `fresh`.
  Reloaded Reload(const Config& fresh);

 private:
  std::string PutInForce(Config changed);

  command::ServerFacts& facts_;
  Config config_;
  const Apply apply_;
};

}  // namespace fairlock::server
