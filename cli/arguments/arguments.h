// How a command tells which arguments it takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/base/clock.h"

namespace CLI {
class App;
}

namespace fairlock::cli {

// Names of options are those of the command line, with commas: "--wait,-w". What is bound is filled
// when the command line is read, and must live until then; what is not given stays as it is.
class Arguments {
 public:
  explicit Arguments(CLI::App& app) : app_(app) {}

  // Positional arguments, in the order of these calls; `name` is for the help.
  void Required(const std::string& name, std::string& target, const std::string& help);
  void Optional(const std::string& name, std::optional<std::string>& target,
                const std::string& help);

  // Positional, as many as are given.
  void Words(const std::string& name, std::vector<std::string>& target, const std::string& help);

  void RequiredChoice(const std::string& name, std::string& target,
                      const std::vector<std::string>& words, const std::string& help);

  void Flag(const std::string& names, bool& target, const std::string& help);
  void Text(const std::string& names, std::optional<std::string>& target, const std::string& help);
  // May be given several times.
  void Texts(const std::string& names, std::vector<std::string>& target, const std::string& help);
  void Choice(const std::string& names, std::string& target, const std::vector<std::string>& words,
              const std::string& help);

  struct Bounds {
    std::int64_t low = 0;
    std::int64_t high = INT64_MAX;
  };
  void Number(const std::string& names, std::optional<std::int64_t>& target, Bounds bounds,
              const std::string& help);
  void RequiredNumber(const std::string& name, std::int64_t& target, Bounds bounds,
                      const std::string& help);

  void Duration(const std::string& names, std::optional<DurationMs>& target,
                const std::string& help);
  // Longer than 0.
  void Lease(const std::string& names, std::optional<DurationMs>& target, const std::string& help);
  // As the server takes some: 1s at least, and nothing below a second.
  void WholeSeconds(const std::string& names, std::optional<DurationMs>& target,
                    const std::string& help);
  // Also `forever`, which is kForever.
  void DurationOrForever(const std::string& names, std::optional<DurationMs>& target,
                         const std::string& help);

 private:
  CLI::App& app_;
};

}  // namespace fairlock::cli
