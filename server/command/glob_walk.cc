#include "server/command/glob_walk.h"

#include "server/command/dispatcher.h"

namespace fairlock::command {

using protocol::ErrorCode;

std::string DescribeLongGlob(std::string_view name, std::string_view glob) {
  if (glob.size() <= engine::kGlobBytesMax) return "";
  return std::string(name) + " pattern must have at most " + std::to_string(engine::kGlobBytesMax) +
         " bytes, got " + std::to_string(glob.size());
}

std::optional<engine::Glob> ReadGlob(Invocation& call, std::string_view name,
                                     std::string_view glob) {
  const std::string mistake = DescribeLongGlob(name, glob);
  if (mistake.empty()) return engine::Glob(glob);
  call.reply.Error(ErrorCode::kErr, mistake);
  return std::nullopt;
}

bool RefusesToMatch(Invocation& call) {
  if (call.dispatcher.matching().MayMatch()) return false;
  call.reply.Error(ErrorCode::kErr,
                   "the commands of this transaction match too many names against patterns; use "
                   "fewer commands that walk over locks or names between MULTI and EXEC");
  return true;
}

}  // namespace fairlock::command
