#include "cli/arguments/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/output/duration.h"
#include "cli/output/printable.h"
#include "text/number.h"

namespace fairlock::cli {

namespace {

// Returns the error text for an invalid value; CLI11 puts the option's name before it.
std::string WrongValue(const std::string& value, std::string_view allowed) {
  return "must be " + std::string(allowed) + ", got " + Quoted(value);
}

std::optional<std::int64_t> ReadNumber(const std::string& word, Arguments::Bounds bounds) {
  const auto number = text::ParseNumber<std::int64_t>(word);
  return number && *number >= bounds.low && *number <= bounds.high ? number : std::nullopt;
}

// A number without a unit is the likeliest mistake: other tools take seconds or milliseconds.
std::string WrongDuration(const std::string& value, std::string_view allowed) {
  const bool is_number = ReadNumber(value, {.low = 1}).has_value();
  if (!is_number) return WrongValue(value, allowed);
  return "must have a unit, such as " + value + "s or " + value + "ms, got " + Quoted(value);
}

using ExplainValue = std::string (*)(const std::string& value, std::string_view allowed);

// An option whose value `read` parses; nullopt means invalid. The last occurrence wins.
template <typename Target, typename Read>
CLI::Option* AddRead(CLI::App& app, const std::string& names, Target& target, std::string allowed,
                     const std::string& help, Read read, ExplainValue explain = WrongValue) {
  const CLI::callback_t take = [&target, read](const CLI::results_t& words) {
    const auto value = read(ValueOf(words.back()));
    if (value) target = *value;
    return value.has_value();
  };
  const auto check = [read, explain, allowed = std::move(allowed)](const std::string& word) {
    const std::string value = ValueOf(word);
    return read(value).has_value() ? std::string() : explain(value, allowed);
  };
  return app.add_option(names, take, help)
      ->check(CLI::Validator(check, ""))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

// An option with any number of values.
CLI::Option* AddTexts(CLI::App& app, const std::string& names, std::vector<std::string>& target,
                      const std::string& help) {
  const CLI::callback_t take = [&target](const CLI::results_t& words) {
    target.clear();
    std::ranges::transform(words, std::back_inserter(target), ValueOf);
    return true;
  };
  return app.add_option(names, take, help)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

CLI::Option* AddChoice(CLI::App& app, const std::string& names, std::string& target,
                       const std::vector<std::string>& words, const std::string& help) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : "|") + word;
  const auto read = [words](const std::string& word) {
    const bool is_known = std::ranges::find(words, word) != words.end();
    return is_known ? std::optional(word) : std::nullopt;
  };
  return AddRead(app, names, target, "one of " + list, help, read)
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
      ->type_name(list);
}

std::optional<std::string> ReadText(const std::string& word) { return word; }

// Parses a positive multiple of `step_ms`.
std::optional<DurationMs> ReadMultiple(std::string_view word, DurationMs step_ms) {
  const auto duration_ms = ParseDuration(word);
  const bool is_multiple = duration_ms && *duration_ms > 0 && *duration_ms % step_ms == 0;
  return is_multiple ? duration_ms : std::nullopt;
}

template <typename Read>
CLI::Option* AddDurationOption(CLI::App& app, const std::string& names,
                               std::optional<DurationMs>& target, std::string_view allowed,
                               const std::string& help, Read read) {
  return AddRead(app, names, target, std::string(allowed), help, read, WrongDuration)
      ->type_name("DURATION");
}

std::string Describe(Arguments::Bounds bounds) {
  const std::string low = std::to_string(bounds.low);
  return bounds.high == INT64_MAX ? "a number of at least " + low
                                  : "a number from " + low + " to " + std::to_string(bounds.high);
}

}  // namespace

std::string MarkedValue(std::string_view text) { return '\0' + std::string(text); }

std::string ValueOf(const std::string& word) {
  return word.starts_with('\0') ? word.substr(1) : word;
}

void Arguments::Required(const std::string& name, std::string& target, const std::string& help) {
  AddRead(app_, name, target, "a text", help, ReadText)->required()->type_name("");
}

void Arguments::Optional(const std::string& name, std::optional<std::string>& target,
                         const std::string& help) {
  AddRead(app_, name, target, "a text", help, ReadText)->type_name("");
}

void Arguments::Words(const std::string& name, std::vector<std::string>& target,
                      const std::string& help) {
  AddTexts(app_, name, target, help)
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args()
      ->type_name("");
}

void Arguments::Texts(const std::string& names, std::vector<std::string>& target,
                      const std::string& help) {
  // Each occurrence takes exactly one word.
  AddTexts(app_, names, target, help)->expected(1)->type_name("TEXT");
}

void Arguments::Flag(const std::string& names, bool& target, const std::string& help) {
  app_.add_flag(names, target, help);
}

void Arguments::Text(const std::string& names, std::optional<std::string>& target,
                     const std::string& help) {
  AddRead(app_, names, target, "a text", help, ReadText)->type_name("TEXT");
}

void Arguments::RequiredChoice(const std::string& name, std::string& target,
                               const std::vector<std::string>& words, const std::string& help) {
  AddChoice(app_, name, target, words, help)->required();
}

void Arguments::Choice(const std::string& names, std::string& target,
                       const std::vector<std::string>& words, const std::string& help) {
  AddChoice(app_, names, target, words, help);
}

void Arguments::Number(const std::string& names, std::optional<std::int64_t>& target, Bounds bounds,
                       const std::string& help) {
  AddRead(app_, names, target, Describe(bounds), help, [bounds](const std::string& word) {
    return ReadNumber(word, bounds);
  })->type_name("N");
}

void Arguments::RequiredNumber(const std::string& name, std::int64_t& target, Bounds bounds,
                               const std::string& help) {
  AddRead(app_, name, target, Describe(bounds), help,
          [bounds](const std::string& word) { return ReadNumber(word, bounds); })
      ->required()
      ->type_name("");
}

void Arguments::Duration(const std::string& names, std::optional<DurationMs>& target,
                         const std::string& help) {
  AddDurationOption(app_, names, target, kDurationForms, help, ParseDuration);
}

void Arguments::Lease(const std::string& names, std::optional<DurationMs>& target,
                      const std::string& help) {
  AddDurationOption(app_, names, target, std::string(kDurationForms) + ", and at least 1ms", help,
                    [](std::string_view word) { return ReadMultiple(word, 1); });
}

void Arguments::WholeSeconds(const std::string& names, std::optional<DurationMs>& target,
                             const std::string& help) {
  AddDurationOption(app_, names, target, "a duration of whole seconds such as 30s, 1h30m or 2d",
                    help, [](std::string_view word) { return ReadMultiple(word, 1000); });
}

void Arguments::DurationOrForever(const std::string& names, std::optional<DurationMs>& target,
                                  const std::string& help) {
  AddDurationOption(app_, names, target, std::string(kDurationForms) + ", or forever", help,
                    [](std::string_view word) {
                      return word == "forever" ? std::optional(kForever) : ParseDuration(word);
                    })
      ->type_name("DURATION|forever");
}

}  // namespace fairlock::cli
