// ACL: shows the users and what they may do. Changes are made in the ACL file.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "server/access/user_rules.h"
#include "server/command/handlers/command_families.h"
#include "server/command/handlers/shared_replies.h"
#include "server/command/server_parts.h"
#include "server/command/table/command_docs.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;

void WhoAmI(Invocation& call) { call.reply.Bulk(call.client.rights.user()->name); }

void AclList(Invocation& call) {
  const auto& users = call.server.access.users().users();
  call.reply.ArrayHeader(users.size());
  for (const auto& entry : users) call.reply.Bulk(access::DescribeUser(entry.second));
}

void Users(Invocation& call) {
  const auto& users = call.server.access.users().users();
  call.reply.ArrayHeader(users.size());
  for (const auto& entry : users) call.reply.Bulk(entry.first);
}

void ListCommandsOf(Invocation& call, std::string_view category) {
  const access::Vocabulary& vocabulary = call.server.access.vocabulary();
  const access::CommandSet set = vocabulary.FindCategory(Lowered(category));
  if (set.none()) {
    return call.reply.Error(ErrorCode::kErr, "Unknown category " + Quoted(category, 128));
  }
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < vocabulary.commands().size(); ++i) {
    if (set.test(i)) names.push_back(vocabulary.commands()[i].name);
  }
  call.reply.ArrayHeader(names.size());
  for (const std::string_view name : names) call.reply.Bulk(name);
}

void Categories(Invocation& call) {
  if (call.arguments.size() > 3) return RefuseArity(*call.server.table.Find("ACL|CAT"), call.reply);
  if (call.arguments.size() == 3) return ListCommandsOf(call, call.arguments[2]);
  const auto names = call.server.access.vocabulary().Categories();
  call.reply.ArrayHeader(names.size());
  for (const std::string_view name : names) call.reply.Bulk(name);
}

void WriteField(Invocation& call, std::string_view name, std::string_view text) {
  call.reply.Bulk(name);
  call.reply.Bulk(text);
}

// The reply has the same form as in Redis, with the owners added at the end.
void GetUser(Invocation& call) {
  const access::User* user = call.server.access.users().Find(call.arguments[2]);
  if (user == nullptr) return call.reply.Null();
  call.reply.MapHeader(7);
  call.reply.Bulk("flags");
  call.reply.SetHeader(user->needs_no_password ? 2 : 1);
  call.reply.Simple(user->is_on ? "on" : "off");
  if (user->needs_no_password) call.reply.Simple("nopass");
  call.reply.Bulk("passwords");
  call.reply.ArrayHeader(user->passwords.size());
  for (const access::StoredPassword& password : user->passwords) {
    call.reply.Bulk(password.digest ? std::string_view(password.rule).substr(1)
                                    : std::string_view(password.rule));
  }
  WriteField(call, "commands", access::DescribeCommands(*user));
  WriteField(call, "keys", access::DescribeKeys(*user));
  WriteField(call, "channels",
             user->channels.is_all() || !user->channels.globs().empty()
                 ? access::DescribeChannels(*user)
                 : std::string());
  call.reply.Bulk("selectors");
  call.reply.ArrayHeader(0);
  WriteField(call, "owners", access::DescribeOwners(*user));
}

// Says whether that user would be permitted to make a request, but does not execute it.
void DryRun(Invocation& call) {
  const AccessControl& control = call.server.access;
  const CommandTable& table = call.server.table;
  const access::User* user = control.users().Find(call.arguments[2]);
  if (user == nullptr) {
    return call.reply.Error(ErrorCode::kErr,
                            "User " + Quoted(call.arguments[2], 128) + " not found");
  }
  const auto request = call.arguments.views().subspan(3);
  std::size_t row = table.IndexOf(request.front());
  if (row != CommandTable::kNone && HasSubcommands(*table.rows()[row]) && request.size() > 1) {
    row = table.IndexOfSubcommand(*table.rows()[row], request[1]);
  }
  if (row == CommandTable::kNone) {
    return call.reply.Error(ErrorCode::kErr,
                            "Command " + Quoted(request.front(), 128) + " not found");
  }
  if (!FitsArity(*table.rows()[row], request.size())) {
    return RefuseArity(*table.rows()[row], call.reply);
  }
  const std::string denial = control.Judge(*user, row, request);
  if (denial.empty()) {
    call.reply.Ok();
  } else {
    call.reply.Bulk(denial);
  }
}

void Load(Invocation& call) {
  UserDirectory* const users = call.server.environment.users;
  const std::string why = users == nullptr ? "there is no ACL file" : users->ReloadUsers();
  if (why.empty()) {
    call.reply.Ok();
  } else {
    call.reply.Error(ErrorCode::kErr, why);
  }
}

constexpr std::uint32_t kOverUsers = kAdmin | kDangerous | kNoScript;

constexpr auto kAclCommands = std::to_array<CommandSpec>({
    {"ACL",
     nullptr,
     -2,
     0,
     {},
     "connection",
     "",
     "Shows, checks and reloads what users may do",
     "Depends on the subcommand"},
    {"ACL|WHOAMI",
     WhoAmI,
     2,
     kNoScript,
     {},
     "connection",
     "",
     "The user of this connection",
     "O(1)"},
    {"ACL|CAT",
     Categories,
     -2,
     kNoScript,
     {},
     "connection",
     "[category]",
     "The categories of commands, or the commands of one",
     "O(commands)"},
    {"ACL|LIST",
     AclList,
     2,
     kOverUsers,
     {},
     "connection",
     "",
     "All users as lines of an ACL file, with hashes of their passwords",
     "O(users)"},
    {"ACL|USERS", Users, 2, kOverUsers, {}, "connection", "", "The names of all users", "O(users)"},
    {"ACL|GETUSER",
     GetUser,
     3,
     kOverUsers,
     {},
     "connection",
     "user",
     "What that user may do",
     "O(rules of the user)"},
    {"ACL|DRYRUN",
     DryRun,
     -4,
     kOverUsers,
     {},
     "connection",
     "user command [argument ...]",
     "OK if that user may make that request, otherwise the reason why not; nothing is executed",
     "O(rules of the user)"},
    {"ACL|LOAD",
     Load,
     2,
     kOverUsers | kNoMulti | kAudited,
     {},
     "connection",
     "",
     "Reloads the ACL file; if it has an error, nothing changes",
     "O(users + connections + places in queues)"},
    {"ACL|HELP", AnswerHelp, 2, kNoScript, {}, "connection", "", "Lists the subcommands", "O(1)"},
});

}  // namespace

std::span<const CommandSpec> AclCommands() { return kAclCommands; }

}  // namespace fairlock::command
