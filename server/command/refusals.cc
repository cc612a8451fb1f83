#include "server/command/refusals.h"

#include <string>

#include "server/command/text.h"

namespace fairlock::command {

using protocol::ErrorCode;

void RefuseSyntax(protocol::ReplyWriter& reply) { reply.Error(ErrorCode::kErr, "syntax error"); }

void RefuseConfined(const CommandSpec& spec, protocol::ReplyWriter& reply) {
  reply.Error(ErrorCode::kErr,
              "Can't execute '" + Lowered(spec.name) +
                  "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in "
                  "this context");
}

void RefuseInScript(const CommandSpec& spec, protocol::ReplyWriter& reply) {
  reply.Error(ErrorCode::kErr,
              "This Redis command is not allowed from script: " + Lowered(spec.name));
}

void RefuseInReadOnlyScript(protocol::ReplyWriter& reply) {
  reply.Error(ErrorCode::kErr, "Write commands are not allowed from read-only scripts.");
}

void RefuseArity(const CommandSpec& spec, protocol::ReplyWriter& reply) {
  std::string text = "wrong number of arguments for '" + Lowered(spec.name) + "' command";
  if (spec.group == "lock") {
    text.append("; ").append(spec.name).append(" ").append(spec.syntax).append(" would be right");
  }
  reply.Error(ErrorCode::kErr, text);
}

}  // namespace fairlock::command
