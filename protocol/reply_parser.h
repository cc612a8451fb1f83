// Parses a server's replies, for fairlock's own clients.

#pragma once

#include <cstddef>
#include <string_view>

#include "protocol/reply.h"
#include "protocol/reply_scanner.h"

namespace fairlock::protocol {

// Parses RESP2 and RESP3 replies of every type, including push messages; attributes are skipped.
// RESP3's streamed forms (`$?`, `*?`), which no server sends, are errors.
//
// Nothing is built before the reply is complete; until then the contract is the same as that of
// ReplyScanner.
class ReplyParser {
 public:
  explicit ReplyParser(const ReplyLimits& limits = {}) : scanner_(limits) {}

  // With kReply, `out` is the reply, which used the first `consumed` bytes of the input.
  ReplyStatus Parse(std::string_view input, Reply& out, std::size_t& consumed);

  // With kError: what is wrong with the reply. A static string.
  std::string_view error() const { return scanner_.error(); }

 private:
  ReplyScanner scanner_;
};

}  // namespace fairlock::protocol
