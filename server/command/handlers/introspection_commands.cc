// COMMAND: the command table, in the forms that clients request.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "server/command/handlers/command_costs.h"
#include "server/command/handlers/command_families.h"
#include "server/command/handlers/shared_replies.h"
#include "server/command/server_parts.h"
#include "server/command/table/command_docs.h"
#include "server/command/table/glob_walk.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;

std::vector<const CommandSpec*> WholeCommands(const CommandTable& table) {
  std::vector<const CommandSpec*> whole;
  for (const CommandSpec* spec : table.rows()) {
    if (!IsSubcommand(*spec)) whole.push_back(spec);
  }
  return whole;
}

void Count(Invocation& call) {
  const std::size_t count = WholeCommands(call.server.table).size();
  call.reply.Integer(static_cast<std::int64_t>(count));
}

// Handles COMMAND, and COMMAND INFO without names.
void DescribeAll(Invocation& call) {
  if (RefusesCost(call)) return;
  const CommandTable& table = call.server.table;
  const std::vector<const CommandSpec*> specs = WholeCommands(table);
  call.reply.ArrayHeader(specs.size());
  for (const CommandSpec* spec : specs) WriteCommandInfo(call.reply, table, *spec);
}

void Describe(Invocation& call) {
  const auto names = call.arguments.views().subspan(2);
  if (names.empty()) return DescribeAll(call);
  if (RefusesCost(call)) return;
  const CommandTable& table = call.server.table;
  call.reply.ArrayHeader(names.size());
  for (const std::string_view name : names) {
    const CommandSpec* spec = table.Find(name);
    if (spec == nullptr) {
      call.reply.Null();
    } else {
      WriteCommandInfo(call.reply, table, *spec);
    }
  }
}

void Document(Invocation& call) {
  if (RefusesCost(call)) return;
  const CommandTable& table = call.server.table;
  const auto names = call.arguments.views().subspan(2);
  std::vector<const CommandSpec*> specs;
  if (names.empty()) specs = WholeCommands(table);
  for (const std::string_view name : names) {
    const CommandSpec* spec = table.Find(name);
    if (spec != nullptr) specs.push_back(spec);
  }
  call.reply.MapHeader(specs.size());
  for (const CommandSpec* spec : specs) WriteCommandDocs(call.reply, table, *spec);
}

// The argument of a filter.
struct FilterValue {
  std::string_view text;
  engine::Glob glob;  // the same text in lower case, as a glob
};

bool AcceptAll(const CommandSpec& /*spec*/, const FilterValue& /*value*/) { return true; }

bool MatchesPattern(const CommandSpec& spec, const FilterValue& pattern) {
  return pattern.glob.Matches(Lowered(spec.name));
}

bool IsInCategory(const CommandSpec& spec, const FilterValue& category) {
  const auto categories = CategoriesOf(spec);
  return std::any_of(categories.begin(), categories.end(),
                     [&](std::string_view name) { return EqualsIgnoreCase(name, category.text); });
}

// Always false, because there are no modules.
bool IsOfModule(const CommandSpec& /*spec*/, const FilterValue& /*module*/) { return false; }

struct ListFilter {
  std::string_view name;
  bool (*accepts)(const CommandSpec&, const FilterValue& value);
};

constexpr auto kListFilters = std::to_array<ListFilter>({
    {"PATTERN", MatchesPattern},
    {"ACLCAT", IsInCategory},
    {"MODULE", IsOfModule},
});

void ListNames(Invocation& call) {
  const protocol::Arguments& arguments = call.arguments;
  ListFilter filter{"", AcceptAll};
  FilterValue value;
  if (arguments.size() > 2) {
    if (arguments.size() != 5 || !EqualsIgnoreCase(arguments[2], "FILTERBY")) {
      return RefuseSyntax(call.reply);
    }
    const auto* const found = std::find_if(
        kListFilters.begin(), kListFilters.end(),
        [&](const ListFilter& row) { return EqualsIgnoreCase(row.name, arguments[3]); });
    if (found == kListFilters.end()) return RefuseSyntax(call.reply);
    filter = *found;
    auto glob = ReadGlob(call, "COMMAND LIST", Lowered(arguments[4]));
    if (!glob) return;
    value = {.text = arguments[4], .glob = *std::move(glob)};
  }
  std::vector<std::string> names;
  for (const CommandSpec* spec : call.server.table.rows()) {
    if (filter.accepts(*spec, value)) names.push_back(Lowered(spec->name));
  }
  call.reply.ArrayHeader(names.size());
  for (const std::string& name : names) call.reply.Bulk(name);
}

// Returns the command that the arguments name, or null.
const CommandSpec* Resolve(const CommandTable& table, std::span<const std::string_view> request) {
  const CommandSpec* spec = table.Find(request.front());
  if (spec == nullptr || !HasSubcommands(*spec) || request.size() < 2) return spec;
  const std::size_t index = table.IndexOfSubcommand(*spec, request[1]);
  return index == CommandTable::kNone ? nullptr : table.rows()[index];
}

struct RequestKeys {
  const CommandSpec* spec = nullptr;  // null: the error has been sent
  std::vector<std::string_view> keys = {};
};

RequestKeys ReadRequestKeys(Invocation& call) {
  const auto request = call.arguments.views().subspan(2);
  const CommandSpec* spec = Resolve(call.server.table, request);
  if (spec == nullptr) {
    call.reply.Error(ErrorCode::kErr, "Invalid command specified");
    return {};
  }
  if (spec->keys.first == 0 || spec->keys.are_channels) {
    call.reply.Error(ErrorCode::kErr, "The command has no key arguments");
    return {};
  }
  if (!FitsArity(*spec, request.size())) {
    call.reply.Error(ErrorCode::kErr, "Invalid number of arguments specified for command");
    return {};
  }
  RequestKeys found = {spec, KeysOf(*spec, request)};
  if (!found.keys.empty() || spec->keys.may_be_none) return found;
  call.reply.Error(ErrorCode::kErr, "Invalid arguments specified for command");
  return {};
}

void GetKeys(Invocation& call) {
  const RequestKeys found = ReadRequestKeys(call);
  if (found.spec == nullptr) return;
  call.reply.ArrayHeader(found.keys.size());
  for (const std::string_view key : found.keys) call.reply.Bulk(key);
}

void GetKeysAndFlags(Invocation& call) {
  const RequestKeys found = ReadRequestKeys(call);
  if (found.spec == nullptr) return;
  call.reply.ArrayHeader(found.keys.size());
  for (std::size_t i = 0; i < found.keys.size(); ++i) {
    call.reply.ArrayHeader(2);
    call.reply.Bulk(found.keys[i]);
    WriteKeyFlags(call.reply, *found.spec, call.arguments.views().subspan(2), i);
  }
}

constexpr auto kIntrospectionCommands = std::to_array<CommandSpec>({
    {"COMMAND",
     DescribeAll,
     -1,
     kConnection | kContainer,
     {},
     "server",
     "",
     "Describes all commands for client libraries",
     "O(commands)"},
    {"COMMAND|COUNT",
     Count,
     2,
     kConnection,
     {},
     "server",
     "",
     "How many commands there are",
     "O(commands)"},
    {"COMMAND|INFO",
     Describe,
     -2,
     kConnection,
     {},
     "server",
     "[command ...]",
     "Describes commands for client libraries: arity, flags, key positions",
     "O(commands)"},
    {"COMMAND|DOCS",
     Document,
     -2,
     kConnection,
     {},
     "server",
     "[command ...]",
     "Describes commands for people: summary, complexity, arguments",
     "O(commands)"},
    {"COMMAND|LIST",
     ListNames,
     -2,
     kConnection,
     {},
     "server",
     "[FILTERBY MODULE module | FILTERBY ACLCAT category | FILTERBY PATTERN pattern]",
     "The names of all commands, or of some",
     "O(commands)"},
    {"COMMAND|GETKEYS",
     GetKeys,
     -4,
     kConnection,
     {},
     "server",
     "command argument [argument ...]",
     "The keys in a complete request",
     "O(arguments)"},
    {"COMMAND|GETKEYSANDFLAGS",
     GetKeysAndFlags,
     -4,
     kConnection,
     {},
     "server",
     "command argument [argument ...]",
     "The keys in a complete request, and how each of them is used",
     "O(arguments)"},
    {"COMMAND|HELP", AnswerHelp, 2, kConnection, {}, "server", "", "Lists the subcommands", "O(1)"},
});

}  // namespace

std::span<const CommandSpec> IntrospectionCommands() { return kIntrospectionCommands; }

}  // namespace fairlock::command
