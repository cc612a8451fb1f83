#include "tests/scenarios/inbox.h"

namespace fairlock::scenarios {

std::optional<protocol::Reply> Inbox::Take() {
  if (is_unreadable_) return std::nullopt;
  protocol::Reply reply;
  std::size_t consumed = 0;
  switch (parser_.Parse(bytes_, reply, consumed)) {
    case protocol::ReplyStatus::kReply:
      bytes_.erase(0, consumed);
      return reply;
    case protocol::ReplyStatus::kNeedMore:
      return std::nullopt;
    case protocol::ReplyStatus::kError:
      break;
  }
  is_unreadable_ = true;
  reply.type = protocol::ReplyType::kError;
  reply.text = "not a reply: " + std::string(parser_.error()) + " in '" + bytes_ + "'";
  return reply;
}

}  // namespace fairlock::scenarios
