#include "server/command/table/command_docs.h"

#include <algorithm>
#include <array>
#include <optional>

#include "server/command/table/command_syntax.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

struct FlagName {
  std::uint32_t flags;  // the category contains the commands that have any of these flags
  std::string_view name;
};

constexpr auto kFlagNames = std::to_array<FlagName>({
    {kWrite, "write"},
    {kReadOnly, "readonly"},
    {kAdmin, "admin"},
    {kPubsub, "pubsub"},
    {kTakesLock, "denyoom"},
    {kBlocking, "blocking"},
    {kFast, "fast"},
    {kNoAuth, "no_auth"},
    {kNoMulti, "no_multi"},
    {kNoScript, "noscript"},
});

constexpr auto kCategoryNames = std::to_array<FlagName>({
    {kReadOnly, "read"},
    {kWrite, "write"},
    {kAdmin, "admin"},
    {kPubsub, "pubsub"},
    {kFast, "fast"},
    {kBlocking, "blocking"},
    {kAdmin | kDangerous, "dangerous"},
    {kConnection, "connection"},
    {kUnowned, "unowned"},
});

void WriteWords(protocol::ReplyWriter& reply, const std::vector<std::string_view>& words,
                std::string_view prefix = "") {
  reply.SetHeader(words.size());
  for (const std::string_view word : words) reply.Simple(std::string(prefix).append(word));
}

void WriteNumber(protocol::ReplyWriter& reply, std::string_view name, int number) {
  reply.Bulk(name);
  reply.Integer(number);
}

void WriteText(protocol::ReplyWriter& reply, std::string_view name, std::string_view text) {
  reply.Bulk(name);
  reply.Bulk(text);
}

std::vector<std::string_view> WordsOf(KeyEffect effect, bool writes) {
  switch (effect) {
    case KeyEffect::kChange:
      return {"RW", "access", "update"};
    case KeyEffect::kTest:
      return {"RO"};
    case KeyEffect::kUpdate:
      return {"RW", "update"};
    case KeyEffect::kOverwrite:
      return {"OW", "update"};
    case KeyEffect::kInsert:
      return {"OW", "insert"};
    case KeyEffect::kDelete:
      return {"RM", "delete"};
    case KeyEffect::kAddElements:
      return {"RW", "insert"};
    case KeyEffect::kDeleteElements:
      return {"RW", "delete"};
    case KeyEffect::kAccessDelete:
    case KeyEffect::kMoveElement:
      return {"RW", "access", "delete"};
    case KeyEffect::kDefault:
    case KeyEffect::kOverwriteUnlessGet:
    case KeyEffect::kChangeUnlessGet:
      break;
  }
  if (writes) return {"RW", "access", "update"};
  return {"RO", "access"};
}

// Writes the key positions in the form that Redis has used since 7.0.
void WriteKeySpec(protocol::ReplyWriter& reply, const KeyPositions& keys, bool writes) {
  reply.MapHeader(3);
  reply.Bulk("flags");
  std::vector<std::string_view> flags = {"not_key"};
  if (!keys.are_channels) flags = WordsOf(keys.effect, writes);
  if (keys.effect == KeyEffect::kOverwriteUnlessGet || keys.effect == KeyEffect::kChangeUnlessGet) {
    flags.emplace_back("variable_flags");
  }
  WriteWords(reply, flags);
  reply.Bulk("begin_search");
  reply.MapHeader(2);
  WriteText(reply, "type", "index");
  reply.Bulk("spec");
  reply.MapHeader(1);
  WriteNumber(reply, "index", keys.first - (keys.is_counted ? 1 : 0));
  reply.Bulk("find_keys");
  reply.MapHeader(2);
  WriteText(reply, "type", keys.is_counted ? "keynum" : "range");
  reply.Bulk("spec");
  reply.MapHeader(3);
  if (keys.is_counted) {
    WriteNumber(reply, "keynumidx", 0);
    WriteNumber(reply, "firstkey", 1);
    WriteNumber(reply, "keystep", keys.step);
    return;
  }
  WriteNumber(reply, "lastkey", keys.last < 0 ? keys.last : keys.last - keys.first);
  WriteNumber(reply, "keystep", keys.step);
  WriteNumber(reply, "limit", 0);
}

void WriteKeySpecs(protocol::ReplyWriter& reply, const CommandSpec& spec) {
  const bool writes = (spec.flags & kWrite) != 0;
  if (spec.keys.first == 0) return reply.SetHeader(0);
  if (spec.keys.counts_others) {
    reply.SetHeader(2);
    WriteKeySpec(reply, With(kFirstKey, spec.keys.effect), writes);
    return WriteKeySpec(reply, {.first = 3, .step = 1, .is_counted = true}, false);
  }
  if (spec.keys.effect != KeyEffect::kMoveElement) {
    reply.SetHeader(1);
    return WriteKeySpec(reply, spec.keys, writes);
  }
  reply.SetHeader(2);
  WriteKeySpec(reply, With(kFirstKey, KeyEffect::kMoveElement), writes);
  WriteKeySpec(reply, With({2, 2, 1}, KeyEffect::kAddElements), writes);
}

void WriteArguments(protocol::ReplyWriter& reply, const Syntax& syntax);

constexpr std::string_view kDuration = "duration";
constexpr std::string_view kDurationExample = "duration(ms|s|m|h|d)";
constexpr std::string_view kDurationSummary =
    "A whole number with a unit: ms, s, m, h or d, such as 30s; without a unit it is milliseconds";

void WriteArgument(protocol::ReplyWriter& reply, const SyntaxNode& node) {
  const std::string name = NameOf(node);
  const std::string_view type = TypeOf(node);
  const bool is_key = type == "key";
  const bool has_flags = node.is_optional || node.is_repeated;
  const bool is_duration = name == kDuration;
  reply.MapHeader(3 + (is_key ? 1U : 0U) + (node.token.empty() ? 0U : 1U) +
                  (is_duration ? 1U : 0U) + (has_flags ? 1U : 0U));
  WriteText(reply, "name", name);
  WriteText(reply, "type", type);
  if (node.parts.empty()) {
    WriteText(reply, "display_text", is_duration ? std::string(kDurationExample) : name);
  }
  if (is_duration) WriteText(reply, "summary", kDurationSummary);
  if (is_key) WriteNumber(reply, "key_spec_index", 0);
  if (!node.token.empty()) WriteText(reply, "token", node.token);
  if (has_flags) {
    reply.Bulk("flags");
    std::vector<std::string_view> flags;
    if (node.is_optional) flags.emplace_back("optional");
    if (node.is_repeated) flags.emplace_back("multiple");
    WriteWords(reply, flags);
  }
  if (!node.parts.empty()) WriteArguments(reply, node.parts);
}

void WriteArguments(protocol::ReplyWriter& reply, const Syntax& syntax) {
  reply.Bulk("arguments");
  reply.ArrayHeader(syntax.size());
  for (const SyntaxNode& node : syntax) WriteArgument(reply, node);
}

}  // namespace

std::vector<std::string_view> FlagNamesOf(const CommandSpec& spec) {
  std::vector<std::string_view> names;
  for (const FlagName& row : kFlagNames) {
    if ((spec.flags & row.flags) != 0) names.push_back(row.name);
  }
  if (spec.keys.may_be_none) names.emplace_back("no_mandatory_keys");
  if (spec.keys.is_counted || spec.keys.counts_others) names.emplace_back("movablekeys");
  return names;
}

std::vector<std::string_view> CategoriesOf(const CommandSpec& spec) {
  std::vector<std::string_view> names;
  if (spec.group == "lock" && (spec.flags & kAdmin) == 0) names.emplace_back("lock");
  if (spec.group == "transactions") names.emplace_back("transaction");
  if (spec.group == "scripts") names.emplace_back("scripting");
  if (spec.group == "sorted-set") names.emplace_back("sortedset");
  if (spec.group == "hash" || spec.group == "list" || spec.group == "set") {
    names.push_back(spec.group);
  }
  for (const FlagName& row : kCategoryNames) {
    if ((spec.flags & row.flags) != 0) names.push_back(row.name);
  }
  if ((spec.flags & kFast) == 0) names.emplace_back("slow");
  return names;
}

void WriteKeyFlags(protocol::ReplyWriter& reply, const CommandSpec& spec,
                   std::span<const std::string_view> request, std::size_t key_index) {
  KeyEffect effect = spec.keys.effect;
  if (effect == KeyEffect::kMoveElement && key_index > 0) effect = KeyEffect::kAddElements;
  if (effect == KeyEffect::kOverwriteUnlessGet) {
    // The search begins after the key and the value, because the value may be the word GET.
    const bool gets = std::ranges::any_of(
        request.subspan(3), [](std::string_view word) { return EqualsIgnoreCase(word, "GET"); });
    effect = gets ? KeyEffect::kDefault : KeyEffect::kOverwrite;
  }
  bool writes = (spec.flags & kWrite) != 0;
  if (effect == KeyEffect::kChangeUnlessGet) {
    writes = std::ranges::any_of(request.subspan(2), [](std::string_view word) {
      return EqualsIgnoreCase(word, "SET") || EqualsIgnoreCase(word, "INCRBY");
    });
  }
  if (spec.keys.counts_others && key_index > 0) {
    effect = KeyEffect::kDefault;
    writes = false;
  }
  WriteWords(reply, WordsOf(effect, writes));
}

void WriteCommandInfo(protocol::ReplyWriter& reply, const CommandTable& table,
                      const CommandSpec& spec) {
  reply.ArrayHeader(10);
  reply.Bulk(Lowered(spec.name));
  reply.Integer(spec.arity);
  WriteWords(reply, FlagNamesOf(spec));
  const KeyPositions keys = spec.keys.is_counted ? KeyPositions() : spec.keys;
  reply.Integer(keys.first);
  reply.Integer(keys.last);
  reply.Integer(keys.step);
  WriteWords(reply, CategoriesOf(spec), "@");
  reply.SetHeader(0);  // hints for proxies
  WriteKeySpecs(reply, spec);
  const auto subcommands = table.SubcommandsOf(spec);
  reply.SetHeader(subcommands.size());
  for (const CommandSpec* subcommand : subcommands) WriteCommandInfo(reply, table, *subcommand);
}

void WriteCommandDocs(protocol::ReplyWriter& reply, const CommandTable& table,
                      const CommandSpec& spec) {
  const Syntax syntax = ParseSyntax(spec.syntax).value_or(Syntax());
  const auto subcommands = table.SubcommandsOf(spec);
  reply.Bulk(Lowered(spec.name));
  reply.MapHeader(4 + (syntax.empty() ? 0U : 1U) + (subcommands.empty() ? 0U : 1U));
  WriteText(reply, "summary", spec.summary);
  WriteText(reply, "since", spec.since);
  WriteText(reply, "group", spec.group);
  WriteText(reply, "complexity", spec.complexity);
  if (!syntax.empty()) WriteArguments(reply, syntax);
  if (subcommands.empty()) return;
  reply.Bulk("subcommands");
  reply.MapHeader(subcommands.size());
  for (const CommandSpec* subcommand : subcommands) WriteCommandDocs(reply, table, *subcommand);
}

KeyRange KeyRangeOf(const CommandSpec& spec, std::span<const std::string_view> request) {
  const auto size = static_cast<int>(request.size());
  const int first = spec.keys.first;
  if (first == 0) return {};
  int last = spec.keys.last < 0 ? size + spec.keys.last : spec.keys.last;
  if (spec.keys.is_counted) {
    const auto count = ParseInteger(request[static_cast<std::size_t>(first - 1)]).value_or(0);
    if (count < 1 || count > (size - first) / spec.keys.step) return {};
    last = first + (static_cast<int>(count) - 1) * spec.keys.step;
  }
  if (spec.keys.counts_others) {
    const auto count = ParseInteger(request[static_cast<std::size_t>(first + 1)]).value_or(0);
    if (count < 1 || count > size - (first + 2)) return {};
    const auto key = static_cast<std::size_t>(first);
    return {.first = key, .end = key + 2 + static_cast<std::size_t>(count), .gap = key + 1};
  }
  return {.first = static_cast<std::size_t>(first),
          .end = static_cast<std::size_t>(std::min(last + 1, size)),
          .step = static_cast<std::size_t>(spec.keys.step)};
}

bool IsWaitForReplicas(std::span<const std::string_view> request) {
  return request.size() == 3 && ParseInteger(request[1]) && ParseInteger(request[2]);
}

std::vector<std::string_view> KeysOf(const CommandSpec& spec,
                                     std::span<const std::string_view> request) {
  std::vector<std::string_view> keys;
  const KeyRange range = KeyRangeOf(spec, request);
  for (std::size_t i = range.first; i < range.end; i = range.After(i)) keys.push_back(request[i]);
  return keys;
}

}  // namespace fairlock::command
