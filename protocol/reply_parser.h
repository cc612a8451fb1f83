// Turns the bytes of a server into replies, for our own clients.

#pragma once

#include <cstddef>
#include <string_view>

#include "protocol/reply.h"
#include "protocol/reply_scanner.h"

namespace fairlock::protocol {

// Parser of RESP2 and RESP3 replies of every type, push messages included; attributes are skipped.
// RESP3's streamed forms (`$?`, `*?`), which no server sends, are errors.
//
// Nothing is built before the reply is there as a whole; until then the contract is ReplyScanner's.
class ReplyParser {
 public:
  explicit ReplyParser(const ReplyLimits& limits = {}) : scanner_(limits) {}

  // With kReply `out` is the reply, which took the first `consumed` bytes of the input.
  ReplyStatus Parse(std::string_view input, Reply& out, std::size_t& consumed);

  // With kError: what is wrong with the reply. Static text.
  std::string_view error() const { return scanner_.error(); }

 private:
  ReplyScanner scanner_;
};

}  // namespace fairlock::protocol
