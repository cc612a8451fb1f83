// Describes a row of the command table for COMMAND INFO, COMMAND DOCS and HELP subcommands.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/arguments.h"
#include "protocol/reply_writer.h"
#include "server/command/table/command_table.h"

namespace fairlock::command {

// Returns "admin", "fast", ...: the row's flags as COMMAND INFO names them.
std::vector<std::string_view> FlagNamesOf(const CommandSpec& spec);
// Returns "lock", "read", "slow", ...: the permission categories, without their '@'.
std::vector<std::string_view> CategoriesOf(const CommandSpec& spec);

// Writes one entry of COMMAND INFO, including its subcommands.
void WriteCommandInfo(protocol::ReplyWriter& reply, const CommandTable& table,
                      const CommandSpec& spec);
// Writes one entry of the map of COMMAND DOCS: name and description, including its subcommands.
void WriteCommandDocs(protocol::ReplyWriter& reply, const CommandTable& table,
                      const CommandSpec& spec);

// Writes how a request uses one of its keys: "RO" "access", or "RW" "access" "update".
void WriteKeyFlags(protocol::ReplyWriter& reply, const CommandSpec& spec,
                   std::span<const std::string_view> request, std::size_t key_index);

// Which arguments of a whole request are its keys: every `step`-th in [first, end), except one.
struct KeyRange {
  std::size_t first = 0;
  std::size_t end = 0;
  std::size_t step = 1;
  std::size_t gap = 0;  // is no key, and the keys behind it are only read; 0: there is none

  // The next key after that one, or no argument before `end`.
  std::size_t After(std::size_t key) const {
    return key + step == gap ? key + 2 * step : key + step;
  }
  bool IsOnlyRead(std::size_t key) const { return gap != 0 && key > gap; }
};

// The command's name counts as the first argument. REQUIRES: the request fits the row's arity.
KeyRange KeyRangeOf(const CommandSpec& spec, std::span<const std::string_view> request);

// Whether a WAIT is the Redis command of that name, which waits for replicas. Its arguments are two
// whole numbers, neither of which is a key.
bool IsWaitForReplicas(std::span<const std::string_view> request);
// Returns the keys themselves.
std::vector<std::string_view> KeysOf(const CommandSpec& spec,
                                     std::span<const std::string_view> request);

}  // namespace fairlock::command
