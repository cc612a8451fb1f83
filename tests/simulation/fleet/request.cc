#include "tests/simulation/fleet/request.h"

namespace fairlock::fleet {

std::string TextOf(const Request& request) {
  const std::string key = " k" + std::to_string(request.key);
  const std::string owner = " w" + std::to_string(request.owner);
  const std::string about = " w" + std::to_string(request.about);
  const std::string lease = " PX " + std::to_string(request.lease / kMs);
  const std::string token = std::to_string(request.token);
  switch (request.command) {
    case Command::kLock:
      return "LOCK" + key + owner + lease + (request.waits ? " WAIT FOREVER" : "") +
             (request.notifies ? " NOTIFY news" : "");
    case Command::kUnlock:
      return "UNLOCK" + key + owner;
    case Command::kRenew:
      return "RENEW" + key + owner + lease + " TOKEN " + token;
    case Command::kLocked:
      return "LOCKED" + key;
    case Command::kIsLockedBy:
      return "LOCKED" + key + about;
    case Command::kCheck:
      return "CHECK" + key + " " + token;
    case Command::kPosition:
      return "POSITION" + key + about;
    case Command::kSubscribe:
      return "SUBSCRIBE news";
  }
  return {};
}

std::string TextOf(const Reply& reply) {
  switch (reply.kind) {
    case Reply::Kind::kNumber:
      return std::to_string(reply.number);
    case Reply::Kind::kNil:
      return "nil";
    case Reply::Kind::kError:
      return "-" + reply.text;
    case Reply::Kind::kMessage:
      return reply.text;
  }
  return {};
}

}  // namespace fairlock::fleet
