// The bytes received from a server, and the replies in them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protocol/reply.h"
#include "protocol/reply_parser.h"

namespace fairlock::scenarios {

class Inbox {
 public:
  void Append(std::string_view bytes) { bytes_.append(bytes); }

  // The next complete reply. Bytes that are not a reply become an error that says so.
  std::optional<protocol::Reply> Take();

 private:
  std::string bytes_;
  protocol::ReplyParser parser_;
  bool is_unreadable_ = false;
};

}  // namespace fairlock::scenarios
