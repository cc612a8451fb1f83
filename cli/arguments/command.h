// A command of the tool, and the context that it runs in.
#pragma once

#include <boost/json/object.hpp>
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
#include "cli/connection/fleet_leaders.h"
#include "cli/connection/settings.h"
#include "cli/output/screen.h"

namespace fairlock::cli {

struct Context {
  Settings settings;
  Login login;
  Client client;  // connects with its first request
  Screen out;     // standard output
  Screen errors;  // standard error
  ProgramModel model;
  std::vector<std::string> after_dashes;  // the words after `--`, if wants_dashes

  // Writes the text to standard output, unchanged. Returns false if the reader has gone.
  bool Print(std::string_view text) const;
  // Writes JSON on one line; escapes control characters if standard output is a terminal.
  bool PrintJson(const boost::json::value& value) const;
  // Like PrintJson(), for a part of a document, or for a document that the server has written.
  bool PrintJsonText(std::string_view text) const;
  // Writes "fairlockctl: TEXT" and a newline to standard error.
  void Say(std::string_view text) const;

  // Finds the servers for a command that concerns all keys: one server, or the leaders of all
  // partitions of its fleet.
  Result<FleetLeaders> FindLeaders();
  // Writes to standard error which of several partitions have failed, and why. Returns `status`, or
  // the exit status of the first failure.
  int Conclude(const FleetLeaders& leaders, int status) const;
};

// Adds the field `failed`: the partitions that have failed. Adds nothing for a single server.
void AddFailed(boost::json::object& object, const FleetLeaders& leaders);

// Runs a command; returns its exit status, or why it failed.
using Action = std::function<Result<int>(Context&)>;

struct CommandRow {
  std::string_view name;
  std::string_view group;  // the heading under which the help lists it
  std::string_view summary;
  // Declares the arguments, and returns the action to run once they are parsed.
  Action (*describe)(Arguments& arguments);
  bool wants_dashes = false;  // the words after `--` are not parsed but passed on
};

inline constexpr std::string_view kInspecting = "Inspecting";
inline constexpr std::string_view kLocking = "Locking";
inline constexpr std::string_view kControlling = "Controlling";
inline constexpr std::string_view kServer = "The server";

}  // namespace fairlock::cli
