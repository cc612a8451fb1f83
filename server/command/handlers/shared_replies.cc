#include "server/command/handlers/shared_replies.h"

#include <string>
#include <utility>
#include <vector>

#include "server/command/server_parts.h"
#include "server/command/table/command_table.h"
#include "server/command/table/glob_walk.h"
#include "server/command/table/refusals.h"

namespace fairlock::command {

using protocol::ErrorCode;

void RefuseBound(Invocation& call, engine::LockStatus status) {
  switch (status) {
    case engine::LockStatus::kTooManyPlaces:
      return RefuseTooMany(call.reply, "places in queues (max_places)");
    case engine::LockStatus::kTooManyOnKey:
      return RefuseTooMany(call.reply, "places in one key's queue (max_places_per_key)");
    case engine::LockStatus::kTooManyOfClient:
      return RefuseTooMany(call.reply,
                           "locks that one connection holds and waits for "
                           "(max_locks_per_connection)");
    case engine::LockStatus::kOutOfMemory:
      return call.server.availability.RefuseLock(call.reply);
    default:
      return RefuseTooMany(call.reply, "locks (max_locks)");
  }
}

void RefuseBound(Invocation& call, engine::WriteStatus status) {
  switch (status) {
    case engine::WriteStatus::kTooManyOfClient:
      return RefuseBound(call, engine::LockStatus::kTooManyOfClient);
    case engine::WriteStatus::kOutOfMemory:
      return RefuseBound(call, engine::LockStatus::kOutOfMemory);
    default:
      return RefuseBound(call, engine::LockStatus::kTooManyLocks);
  }
}

std::optional<engine::Glob> ReadGlob(Invocation& call, std::string_view name,
                                     std::string_view glob) {
  const std::string mistake = DescribeLongGlob(name, glob);
  if (mistake.empty()) return engine::Glob(glob);
  call.reply.Error(ErrorCode::kErr, mistake);
  return std::nullopt;
}

bool RefusesToMatch(Invocation& call) {
  if (call.server.work.MayMatch()) return false;
  call.reply.Error(ErrorCode::kErr,
                   "the commands of this transaction match too many names against patterns; use "
                   "fewer commands that walk over locks or names between MULTI and EXEC");
  return true;
}

void AnswerHelp(Invocation& call) {
  const CommandTable& table = call.server.table;
  const CommandSpec& container = *table.Find(call.arguments[0]);
  std::vector<std::string> lines;
  lines.push_back(std::string(container.name) +
                  " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
  const auto add = [&](std::string line, std::string_view summary) {
    lines.push_back(std::move(line));
    lines.push_back("    " + std::string(summary) + ".");
  };
  if (container.handler != nullptr) add("(no subcommand)", container.summary);
  for (const CommandSpec* subcommand : table.SubcommandsOf(container)) {
    std::string line(subcommand->name.substr(container.name.size() + 1));
    if (!subcommand->syntax.empty()) line.append(" ").append(subcommand->syntax);
    add(std::move(line), subcommand->summary);
  }
  call.reply.ArrayHeader(lines.size());
  for (const std::string& line : lines) call.reply.Simple(line);
}

}  // namespace fairlock::command
