#include "server/command/table/refusals.h"

#include <algorithm>
#include <string>

#include "server/command/table/text.h"

namespace fairlock::command {

using protocol::ErrorCode;

void RefuseSyntax(protocol::ReplyWriter& reply) { reply.Error(ErrorCode::kErr, "syntax error"); }

void RefuseConfined(const CommandSpec& spec, protocol::ReplyWriter& reply) {
  reply.Error(ErrorCode::kErr,
              "Can't execute '" + Lowered(spec.name) +
                  "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in "
                  "this context");
}

void RefuseInScript(protocol::ReplyWriter& reply) {
  reply.Error(ErrorCode::kErr, "This Redis command is not allowed from script");
}

void RefuseInReadOnlyScript(protocol::ReplyWriter& reply) {
  reply.Error(ErrorCode::kErr, "Write commands are not allowed from read-only scripts.");
}

namespace {

// Returns how a request is written, but only for commands that Redis does not have.
std::string SyntaxHint(const CommandSpec& spec) {
  if (spec.group != "lock") return {};
  std::string name(spec.name);
  std::replace(name.begin(), name.end(), '|', ' ');
  const std::string_view rest = HasSubcommands(spec) ? "HELP" : spec.syntax;
  std::string hint = "; usage: " + name;
  if (!rest.empty()) hint.append(" ").append(rest);
  return hint;
}

}  // namespace

void RefuseArity(const CommandSpec& spec, protocol::ReplyWriter& reply) {
  reply.Error(ErrorCode::kErr, "wrong number of arguments for '" + Lowered(spec.name) +
                                   "' command" + SyntaxHint(spec));
}

void RefuseArityInScript(const CommandSpec& spec, protocol::ReplyWriter& reply) {
  reply.Error(ErrorCode::kErr,
              "Wrong number of args calling Redis command from script" + SyntaxHint(spec));
}

void RefuseOfClusters(protocol::ReplyWriter& reply) {
  reply.Error(ErrorCode::kErr, "This instance has cluster support disabled");
}

void RefuseType(protocol::ReplyWriter& reply) {
  reply.Error(ErrorCode::kWrongType, "Operation against a key holding the wrong kind of value");
}

void RefuseTooMany(protocol::ReplyWriter& reply, std::string_view what) {
  reply.Error(ErrorCode::kFull, "the configured maximum number of " + std::string(what) +
                                    " has been reached; release some, or raise the limit");
}

}  // namespace fairlock::command
