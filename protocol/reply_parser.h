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
// Builds nothing before the reply is complete. Until then, the input must meet the same contract as
// for ReplyScanner.
class ReplyParser {
 public:
  explicit ReplyParser(const ReplyLimits& limits = {}) : scanner_(limits) {}

  // On kReply, `out` is the reply, and `consumed` is the number of input bytes that it took up.
  ReplyStatus Parse(std::string_view input, Reply& out, std::size_t& consumed);

  // What is wrong with the reply, after kError. A static string.
  std::string_view error() const { return scanner_.error(); }

 private:
  ReplyScanner scanner_;
};

}  // namespace fairlock::protocol
