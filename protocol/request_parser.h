// Finds the requests in the bytes of a connection.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/arguments.h"
#include "protocol/limits.h"
#include "protocol/wire_error.h"

namespace fairlock::protocol {

enum class ParseStatus : std::uint8_t { kRequest, kNeedMore, kError };

struct ParseResult {
  ParseStatus status = ParseStatus::kNeedMore;
  // The number of bytes to drop from the front of the input. It can also be nonzero with kNeedMore,
  // when empty lines and empty arrays were skipped.
  std::size_t consumed = 0;
  // The error to send before closing the connection, on kError. A static string.
  WireError error;
};

// Parses RESP2 and RESP3 requests (multibulk) and inline lines, as Redis does.
//
// A parser consists of a few bytes and has no buffer. `input` begins at the first byte of the
// current request. After kNeedMore the bytes that were not consumed must be passed again (at any
// address), followed by more. Bytes that were already checked are not read again, so parsing input
// that arrives byte by byte reads each byte at most about twice. After kError the parser must not
// be used.
//
// An HTTP request or a TLS handshake is an error, which is detected in its first line, so that
// nothing in it is ever executed as a command. An inline line is refused if
//
// - its first byte is 0x16,
// - its first word is POST, PUT, HEAD, DELETE, OPTIONS, PATCH, CONNECT or TRACE, or begins with
//   `Host:` (no command has such a name),
// - it has at least three words and the last one is a version such as HTTP/1.1 (this covers GET,
//   and LOCK and UNLOCK, which are WebDAV methods too), or
// - it is GET with a target (`/...`, `http:...`) in the first line of the connection.
class RequestParser {
 public:
  // After kRequest, `out` is the request; otherwise it is unspecified.
  ParseResult Parse(std::string_view input, const RequestLimits& limits, Arguments& out);
  // Forgets any partial request: the input begins at the first byte of a request again.
  void Restart() { needed_bytes_ = settled_bytes_ = bulks_missing_ = 0; }

 private:
  enum class Found : std::uint8_t { kRequest, kNothing, kNeedMore, kError };

  Found ParseMultibulk(std::string_view input, const RequestLimits& limits, Arguments& out,
                       ParseResult& result);
  Found ParseInline(std::string_view input, const RequestLimits& limits, Arguments& out,
                    ParseResult& result);
  Found ReadBulks(std::string_view input, const RequestLimits& limits, Arguments& out,
                  ParseResult& result);
  Found ReadCount(std::string_view input, const RequestLimits& limits, ParseResult& result);
  Found Await(std::size_t needed_bytes);
  static Found Fail(std::string_view text, ParseResult& result);

  // With less input than this, nothing new can be decided.
  std::uint32_t needed_bytes_ = 0;
  // How much of the input has been checked: everything up to the end of the last complete bulk, or
  // everything that was searched in vain for a line end.
  std::uint32_t settled_bytes_ = 0;
  std::uint32_t bulks_missing_ = 0;
  bool begun_ = false;  // a request has been found on this connection
};

}  // namespace fairlock::protocol
