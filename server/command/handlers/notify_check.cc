#include "server/command/handlers/notify_check.h"

#include <string>
#include <string_view>

#include "server/command/cluster/slots.h"
#include "server/command/server_parts.h"
#include "server/command/table/text.h"

namespace fairlock::command {

using protocol::ErrorCode;

bool CheckNotify(Invocation& call, std::string_view key, const engine::LockRequest& request) {
  if (!request.notify) return true;
  const std::string_view channel = *request.notify;
  std::string problem;
  if (call.server.delivery.is_in_step()) {
    problem = "is not possible inside EXEC or a script; send the LOCK by itself";
  } else if (channel.empty() || channel.starts_with(kOwnChannelPrefix)) {
    problem =
        "channel " + Quoted(channel, 128) +
        " is empty or begins with '__', which is reserved for the server; choose another name";
  } else if (call.server.routing.is_on() && SlotOf(channel) != SlotOf(key)) {
    call.reply.Error(ErrorCode::kCrossSlot, "NOTIFY: channel " + Quoted(channel, 128) +
                                                " does not have the key's hash slot; use a name "
                                                "with the key's hash tag, like {order:42}done");
    return false;
  } else if (call.server.channels.CountNotified(channel) == 0) {
    problem = "channel " + Quoted(channel, 128) + " has no subscriber; " +
              (call.server.routing.is_on() ? "SSUBSCRIBE to it first, or SUBSCRIBE at this node"
                                           : "SUBSCRIBE to it first, on any connection");
  } else {
    return true;
  }
  call.reply.Error(ErrorCode::kErr, "NOTIFY: " + problem);
  return false;
}

}  // namespace fairlock::command
