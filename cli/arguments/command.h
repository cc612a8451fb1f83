// One command of the tool, and what it is given when it runs.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments/arguments.h"
#include "cli/arguments/program_model.h"
#include "cli/base/result.h"
#include "cli/connection/client.h"
#include "cli/connection/settings.h"
#include "cli/output/screen.h"

namespace fairlock::cli {

struct Context {
  Settings settings;
  Login login;
  Client client;  // connects when it is first asked
  Screen out;     // standard output
  Screen errors;  // standard error
  ProgramModel model;
  std::vector<std::string> behind_dashes;  // what stood behind `--`, if the command wants it whole

  // To standard output, as it is. False: nobody reads it any more.
  bool Print(std::string_view text) const;
  // JSON, in one line. What a terminal would obey is escaped there; elsewhere it stays as it is.
  bool PrintJson(const boost::json::value& value) const;
  // A part of a document that is printed in pieces, or a document that the server has written.
  bool PrintJsonText(std::string_view text) const;
  // To standard error: "fairlockctl: TEXT" and a line end.
  void Say(std::string_view text) const;
};

// The exit status, or why it failed.
using Action = std::function<Result<int>(Context&)>;

struct CommandRow {
  std::string_view name;
  std::string_view group;  // under which the help lists it
  std::string_view summary;
  // Tells the arguments, and returns what to do once they are read.
  Action (*describe)(Arguments& arguments);
  bool wants_dashes = false;  // everything behind `--` is its own, and not read
};

inline constexpr std::string_view kLooking = "Looking";
inline constexpr std::string_view kLocking = "Locking";
inline constexpr std::string_view kSteering = "Steering";
inline constexpr std::string_view kServing = "The server";

}  // namespace fairlock::cli
