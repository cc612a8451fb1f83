#include "server/command/execution/admission.h"

#include <string>
#include <string_view>

#include "server/command/table/foreign_commands.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

using protocol::ErrorCode;

namespace {

// Says after a semicolon what to use instead of an unknown command; empty if no name is similar.
std::string HintFor(const CommandTable& table, std::string_view name) {
  if (const std::string_view instead = InsteadOf(name); !instead.empty()) {
    return "; " + std::string(instead);
  }
  const std::string_view meant = CommandMeantBy(table, name);
  return meant.empty() ? "" : "; did you mean " + std::string(meant) + "?";
}

void RefuseUnknownCommand(const CommandTable& table, const protocol::Arguments& arguments,
                          protocol::ReplyWriter& reply) {
  if (IsOfClusters(arguments[0])) return RefuseOfClusters(reply);
  std::string text =
      "unknown command " + Quoted(arguments[0], 128) + ", with args beginning with: ";
  for (std::size_t i = 1; i < arguments.size() && text.size() < 256; ++i) {
    text += Quoted(arguments[i], 128) + " ";
  }
  reply.Error(ErrorCode::kErr, text + HintFor(table, arguments[0]));
}

// The error has the same wording as in Redis.
void RefuseUnknownInScript(const CommandTable& table, const protocol::Arguments& arguments,
                           protocol::ReplyWriter& reply) {
  reply.Error(ErrorCode::kErr,
              "Unknown Redis command called from script" + HintFor(table, arguments[0]));
}

void RefuseUnknownSubcommand(const CommandTable& table, const CommandSpec& container,
                             std::string_view subcommand, protocol::ReplyWriter& reply) {
  if (IsOfClusters(container.name, subcommand)) return RefuseOfClusters(reply);
  std::string text = "unknown subcommand " + Quoted(subcommand, 128) + ". Try " +
                     std::string(container.name) + " HELP.";
  const std::string_view meant = SubcommandMeantBy(table, container, subcommand);
  if (!meant.empty()) {
    text.append(" Did you mean ").append(container.name).append(" ").append(meant).append("?");
  }
  reply.Error(ErrorCode::kErr, text);
}

}  // namespace

FoundCommand Admission::Find(const Client& client, const RequestAhead& request, Origin origin,
                             protocol::ReplyWriter& reply) const {
  const protocol::Arguments& arguments = request.arguments;
  FoundCommand found{.row = request.row};
  const CommandSpec* spec = found.row == CommandTable::kNone ? nullptr : table_.rows()[found.row];
  const bool names_subcommand = spec != nullptr && HasSubcommands(*spec) && arguments.size() > 1;
  if (names_subcommand) found.row = table_.IndexOfSubcommand(*spec, arguments[1]);
  if (client.rights.is_limited() && !access_.Admit(client, request, reply)) return found;
  if (found.row != CommandTable::kNone) {
    spec = table_.rows()[found.row];
    found.is_accepted = !IsRefused(client, *spec, arguments, origin, reply);
  } else if (origin == Origin::kScript) {
    RefuseUnknownInScript(table_, arguments, reply);
  } else if (names_subcommand) {
    RefuseUnknownSubcommand(table_, *spec, arguments[1], reply);
  } else {
    RefuseUnknownCommand(table_, arguments, reply);
  }
  return found;
}

bool Admission::IsRefused(const Client& client, const CommandSpec& spec,
                          const protocol::Arguments& arguments, Origin origin,
                          protocol::ReplyWriter& reply) const {
  if (spec.handler == nullptr || !FitsArity(spec, arguments.size())) {
    origin == Origin::kScript ? RefuseArityInScript(spec, reply) : RefuseArity(spec, reply);
    return true;
  }
  if (routing_.is_on() && routing_.Refuses(spec, arguments, client.profile, origin, reply)) {
    return true;
  }
  if (availability_.RefusesNow(spec.flags, reply)) return true;
  if (!client.is_confined() || (spec.flags & kWhileConfined) != 0) return false;
  RefuseConfined(spec, reply);
  return true;
}

bool Admission::MayStill(const Client& client, std::size_t row,
                         const protocol::Arguments& arguments, protocol::ReplyWriter& reply) const {
  return !client.rights.is_limited() || access_.AdmitRow(client, row, arguments, reply);
}

}  // namespace fairlock::command
