// Declares the arguments of a command.
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

// CLI11 takes some values for more than text: "[a,b]" for two values, "{}" for none, "++" and the
// name of a command for the end of the values. So ReadCommandLine() puts a zero byte, which no
// argument of a process can contain, before each value, and each value is read with ValueOf().
std::string MarkedValue(std::string_view text);
// The text as it was given; also accepts a word without a mark.
std::string ValueOf(const std::string& word);

// Option names are written as on the command line, separated by commas: "--wait,-w". A target is
// filled when the command line is parsed and must live until then; it is unchanged if the argument
// is not given.
class Arguments {
 public:
  explicit Arguments(CLI::App& app) : app_(app) {}

  // Positional arguments, in the order of these calls; `name` appears in the help.
  void Required(const std::string& name, std::string& target, const std::string& help);
  void Optional(const std::string& name, std::optional<std::string>& target,
                const std::string& help);

  // Any number of positional arguments.
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
  // Must be positive.
  void Lease(const std::string& names, std::optional<DurationMs>& target, const std::string& help);
  // A duration of whole seconds, at least 1s.
  void WholeSeconds(const std::string& names, std::optional<DurationMs>& target,
                    const std::string& help);
  // Also accepts `forever`, which is kForever.
  void DurationOrForever(const std::string& names, std::optional<DurationMs>& target,
                         const std::string& help);

 private:
  CLI::App& app_;
};

}  // namespace fairlock::cli
