#include "server/command/handlers/notify_check.h"

#include <string>
#include <string_view>

#include "server/command/server_parts.h"
#include "server/command/table/text.h"

namespace fairlock::command {

using protocol::ErrorCode;

bool CheckNotify(Invocation& call, const engine::LockRequest& request) {
  if (!request.notify) return true;
  const std::string_view channel = *request.notify;
  std::string problem;
  if (call.server.delivery.is_in_step()) {
    problem = "is not possible inside EXEC or a script; send the LOCK by itself";
  } else if (channel.empty() || channel.starts_with(kOwnChannelPrefix)) {
    problem =
        "channel " + Quoted(channel, 128) +
        " is empty or begins with '__', which is reserved for the server; choose another name";
  } else if (call.server.channels.CountSubscribers(channel) == 0) {
    problem = "channel " + Quoted(channel, 128) +
              " has no subscriber; SUBSCRIBE to it first, on any connection";
  } else {
    return true;
  }
  call.reply.Error(ErrorCode::kErr, "NOTIFY: " + problem);
  return false;
}

}  // namespace fairlock::command
