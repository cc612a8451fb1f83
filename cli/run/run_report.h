// Prints the messages of `run` itself on standard error; standard output belongs to the command.
#pragma once

#include <string>
#include <string_view>

#include "cli/arguments/command.h"
#include "cli/base/result.h"
#include "cli/run/run_options.h"

namespace fairlock::cli {

class RunReport {
 public:
  RunReport(const Context& context, const RunOptions& options)
      : context_(context), options_(options) {}

  // Prints a sentence or, with --json, one object with the event's name.
  void Say(std::string_view event, const std::string& text) const;
  // With --json, prints an event with a number; otherwise nothing.
  void ReportNumber(std::string_view event, std::string_view field, std::int64_t number) const;
  // With --json, prints a failure and returns only its exit code; otherwise returns `outcome`
  // unchanged.
  Result<int> Conclude(Result<int> outcome) const;

 private:
  void Print(const boost::json::object& object) const;
  boost::json::object ObjectOf(std::string_view event) const;

  const Context& context_;
  const RunOptions& options_;
};

}  // namespace fairlock::cli
