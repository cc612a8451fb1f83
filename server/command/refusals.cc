#include "server/command/refusals.h"

#include <string>

#include "server/command/text.h"

namespace fairlock::command {

using protocol::ErrorCode;

void RefuseSyntax(protocol::ReplyWriter& reply) { reply.Error(ErrorCode::kErr, "syntax error"); }

void RefuseArity(const CommandSpec& spec, protocol::ReplyWriter& reply) {
  std::string text = "wrong number of arguments for '" + Lowered(spec.name) + "' command";
  if (spec.group == "lock") {
    text.append("; ").append(spec.name).append(" ").append(spec.syntax).append(" would be right");
  }
  reply.Error(ErrorCode::kErr, text);
}

}  // namespace fairlock::command
