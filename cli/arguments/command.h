// A command of the tool, and the context that it runs in.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments/arguments.h"
#include "cli/base/result.h"
#include "cli/connection/client.h"
#include "cli/connection/fleet_leaders.h"
#include "cli/connection/settings.h"
#include "cli/output/screen.h"

namespace fairlock::cli {

// A description of the whole command line, for completion scripts.
struct OptionModel {
  std::vector<std::string> names;  // "--wait", "-w"; empty: positional
  std::string help;
  std::string value;                 // "DURATION"; empty: a flag
  std::vector<std::string> choices;  // the allowed values, if they are a fixed list
  // the KIND of names that `complete` offers as values: "keys", "labels", "options", or empty
  std::string known_to_server;
};

struct CommandModel {
  std::string name;
  std::string summary;
  std::vector<OptionModel> options;
  std::vector<CommandModel> commands;  // its subcommands, as in `limit set`
};

struct ProgramModel {
  std::vector<OptionModel> options;  // options that every command takes
  std::vector<CommandModel> commands;
};

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

inline constexpr std::int64_t kPartitionMax = 63;

// Returns the partition that the option names; it may be omitted only if there is one partition.
// `reason` completes the error: why the command needs the option. Fails if no node leads the
// partition.
Result<std::size_t> ChoosePartition(const std::optional<std::int64_t>& given,
                                    const FleetLeaders& leaders, std::string_view reason);

// Returns true if the user typed "y" or "yes". Fails if there is no terminal; the failure names
// --yes.
Result<bool> Confirm(const Context& context, const std::string& question);

}  // namespace fairlock::cli
