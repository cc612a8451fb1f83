// What `run` itself says, on standard error: its output is that of its command.
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

  // A sentence; with --json one object in a line, with the event's name.
  void Say(std::string_view event, const std::string& text) const;
  // What only programs are told.
  void Count(std::string_view event, std::string_view field, std::int64_t number) const;
  // The outcome to return: with --json a failure is said here, and only its exit code left.
  Result<int> Conclude(Result<int> outcome) const;

 private:
  void Print(const boost::json::object& object) const;
  boost::json::object ObjectOf(std::string_view event) const;

  const Context& context_;
  const RunOptions& options_;
};

}  // namespace fairlock::cli
