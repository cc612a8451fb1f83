// EVAL, EVALSHA, their read-only forms, and SCRIPT.

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "server/command/handlers/command_families.h"
#include "server/command/handlers/shared_replies.h"
#include "server/command/server_parts.h"
#include "server/command/table/command_docs.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;

constexpr std::size_t kFirstOfKeys = 3;

// Reads how many of the arguments after the script are keys. Returns nullopt after sending an
// error.
std::optional<std::size_t> ReadKeyCount(Invocation& call) {
  const auto count = ParseInteger(call.arguments[kFirstOfKeys - 1]);
  const auto count_max = static_cast<std::int64_t>(call.arguments.size() - kFirstOfKeys);
  if (!count) {
    call.reply.Error(ErrorCode::kErr, "value is not an integer or out of range");
  } else if (*count < 0) {
    call.reply.Error(ErrorCode::kErr, "Number of keys can't be negative");
  } else if (*count > count_max) {
    call.reply.Error(ErrorCode::kErr, "Number of keys can't be greater than number of args");
  } else {
    return static_cast<std::size_t>(*count);
  }
  return std::nullopt;
}

void Run(Invocation& call, script::Script& script, std::size_t keys, bool is_read_only) {
  if (is_read_only && script.has_shebang && !script.is_read_only) {
    return call.reply.Error(ErrorCode::kErr,
                            "Can not execute a script with write flag using *_ro command.");
  }
  const auto behind = call.arguments.views().subspan(kFirstOfKeys);
  call.server.scripts.Run(
      script,
      {.keys = behind.first(keys), .arguments = behind.subspan(keys), .is_read_only = is_read_only},
      call);
}

// Returns the script with that text, or null after sending an error.
script::Script* Load(Invocation& call, std::string_view text) {
  const script::LoadResult loaded = call.server.scripts.Load(text);
  if (loaded.script == nullptr) call.reply.Error(ErrorCode::kErr, loaded.error);
  return loaded.script;
}

void EvalText(Invocation& call, bool is_read_only) {
  const auto keys = ReadKeyCount(call);
  if (!keys) return;
  if (script::Script* script = Load(call, call.arguments[1])) {
    Run(call, *script, *keys, is_read_only);
  }
}

void EvalDigest(Invocation& call, bool is_read_only) {
  const auto keys = ReadKeyCount(call);
  if (!keys) return;
  const auto digest = script::ParseDigest(call.arguments[1]);
  script::Script* script = digest ? call.server.scripts.interpreter().Find(*digest) : nullptr;
  if (script == nullptr) {
    return call.reply.Error(ErrorCode::kNoScript, "No matching script. Please use EVAL.");
  }
  Run(call, *script, *keys, is_read_only);
}

void Eval(Invocation& call) { EvalText(call, false); }
void EvalReadOnly(Invocation& call) { EvalText(call, true); }
void EvalSha(Invocation& call) { EvalDigest(call, false); }
void EvalShaReadOnly(Invocation& call) { EvalDigest(call, true); }

void LoadScript(Invocation& call) {
  const script::Script* script = Load(call, call.arguments[2]);
  if (script != nullptr) call.reply.Bulk(script::HexOf(script->digest));
}

void TellWhichExist(Invocation& call) {
  const auto digests = call.arguments.views().subspan(2);
  call.reply.ArrayHeader(digests.size());
  for (const std::string_view hex : digests) {
    const auto digest = script::ParseDigest(hex);
    const bool exists = digest && call.server.scripts.interpreter().Find(*digest) != nullptr;
    call.reply.Integer(exists ? 1 : 0);
  }
}

void Flush(Invocation& call) {
  const auto options = call.arguments.views().subspan(2);
  const bool is_known = options.empty() || EqualsIgnoreCase(options[0], "SYNC") ||
                        EqualsIgnoreCase(options[0], "ASYNC");
  if (!is_known || options.size() > 1) {
    return call.reply.Error(ErrorCode::kErr, "SCRIPT FLUSH only support SYNC|ASYNC option");
  }
  call.server.scripts.interpreter().Flush();
  call.reply.Ok();
}

// No script can be running when this is called: a script that takes too long is stopped before the
// next request is read.
void Kill(Invocation& call) {
  call.reply.Error(ErrorCode::kNotBusy, "No scripts in execution right now.");
}

constexpr KeyPositions kCountedKeys = {
    .first = 3, .last = 0, .step = 1, .is_counted = true, .may_be_none = true};

constexpr std::uint32_t kRunning = kNoScript | kRunsScripts;

constexpr auto kScriptCommands = std::to_array<CommandSpec>({
    {"EVAL", Eval, -3, kRunning, With(kCountedKeys, KeyEffect::kChange), "scripts",
     "script numkeys [key ...] [arg ...]",
     "Runs a Lua script as one step, and keeps it for EVALSHA", "Depends on the script"},
    {"EVALSHA", EvalSha, -3, kRunning, With(kCountedKeys, KeyEffect::kChange), "scripts",
     "sha1 numkeys [key ...] [arg ...]",
     "Runs a script that was loaded or run before, or replies with NOSCRIPT",
     "Depends on the script"},
    {"EVAL_RO", EvalReadOnly, -3, kRunning | kReadOnly, kCountedKeys, "scripts",
     "script numkeys [key ...] [arg ...]", "Like EVAL, for a script that changes nothing",
     "Depends on the script"},
    {"EVALSHA_RO", EvalShaReadOnly, -3, kRunning | kReadOnly, kCountedKeys, "scripts",
     "sha1 numkeys [key ...] [arg ...]", "Like EVALSHA, for a script that changes nothing",
     "Depends on the script"},
    {"SCRIPT",
     nullptr,
     -2,
     kRunsScripts,
     {},
     "scripts",
     "",
     "Manages the cached scripts",
     "Depends on the subcommand"},
    {"SCRIPT|LOAD",
     LoadScript,
     3,
     kNoScript,
     {},
     "scripts",
     "script",
     "Compiles and caches a script; returns its SHA-1, for EVALSHA",
     "O(bytes)"},
    {"SCRIPT|EXISTS",
     TellWhichExist,
     -3,
     kNoScript,
     {},
     "scripts",
     "sha1 [sha1 ...]",
     "For each digest, whether that script is kept: 1 or 0",
     "O(digests)"},
    {"SCRIPT|FLUSH",
     Flush,
     -2,
     kNoScript,
     {},
     "scripts",
     "[ASYNC|SYNC]",
     "Forgets all scripts",
     "O(scripts)"},
    {"SCRIPT|KILL",
     Kill,
     2,
     kNoScript,
     {},
     "scripts",
     "",
     "Always replies with NOTBUSY: a script that takes too long stops by itself, and no other "
     "client is served until then",
     "O(1)"},
    {"SCRIPT|HELP", AnswerHelp, 2, kNoScript, {}, "scripts", "", "Lists the subcommands", "O(1)"},
});

}  // namespace

std::span<const CommandSpec> ScriptCommands() { return kScriptCommands; }

}  // namespace fairlock::command
