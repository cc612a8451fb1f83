#include "server/net/net_events.h"

namespace fairlock::net {

std::string_view NameOf(CloseReason reason) {
  switch (reason) {
    case CloseReason::kPeerClosed:
      return "closed by the client";
    case CloseReason::kPeerFailed:
      return "connection lost";
    case CloseReason::kAnswered:
      return "last reply sent";
    case CloseReason::kKilled:
      return "killed";
    case CloseReason::kOutputLimit:
      return "output limit reached";
    case CloseReason::kAllOutputLimit:
      return "the most unread replies when there were too many";
    case CloseReason::kInputLimit:
      return "too much input after a waiting request";
    case CloseReason::kAllInputLimit:
      return "the most unexecuted input when there was too much";
    case CloseReason::kRequestDeadline:
      return "request not completed in time";
    case CloseReason::kGaveWay:
      return "its first request was incomplete, and its place was needed (max_clients)";
    case CloseReason::kLingered:
      return "last replies not read";
    case CloseReason::kNotConfirmed:
      return "etcd does not confirm that this node leads";
    case CloseReason::kLeaderIsElsewhere:
      return "another node leads now";
    case CloseReason::kServerStops:
      return "server stops";
  }
  return "";
}

std::string TextOf(const Refusal& refusal) {
  if (!refusal.is_by_address) return "-ERR max number of clients reached\r\n";
  return "-FULL this address has " + std::to_string(refusal.connections_max) +
         " connections (max_clients_per_address); close one of them first\r\n";
}

}  // namespace fairlock::net
