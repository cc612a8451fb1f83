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
  // Drop that many bytes from the front of the input. Also with kNeedMore it can be more than 0:
  // empty lines and empty arrays were skipped.
  std::size_t consumed = 0;
  // With kError: answer it, then close. Static text.
  WireError error;
};

// Parser of RESP2 and RESP3 requests (multibulk) and of inline lines, as Redis understands them.
//
// A value of a few bytes without a buffer. `input` begins at the first byte of the current request.
// After kNeedMore the bytes that were not consumed must be given again (they may have moved), with
// more behind them; what was looked at before is then not looked at again, so bytes that arrive one
// by one cost no more than twice their number. After kError the parser must not be used any more.
//
// An HTTP request or a TLS hello is an error, decided by its first line, so that nothing in it is
// ever taken for a command. An inline line is refused
//   - whose first byte is 0x16,
//   - whose first word is POST, PUT, HEAD, DELETE, OPTIONS, PATCH, CONNECT or TRACE, or begins with
//     `Host:` (no command is named so),
//   - of three words or more, the last one a version such as HTTP/1.1 (GET, and LOCK and UNLOCK,
//     which are methods of WebDAV too),
//   - that is GET with a target (`/...`, `http:...`), if nothing came before it on the connection.
class RequestParser {
 public:
  // `out` is filled with kRequest and unspecified otherwise.
  ParseResult Parse(std::string_view input, const RequestLimits& limits, Arguments& out);
  // The input begins at the first byte of a request again, whatever was seen of one.
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

  // Nothing new can be learned before the input has this size.
  std::uint32_t needed_bytes_ = 0;
  // Up to here the input was looked at: behind the last whole bulk, or where no line end was found.
  std::uint32_t settled_bytes_ = 0;
  std::uint32_t bulks_missing_ = 0;
  bool begun_ = false;  // a request was found on this connection
};

}  // namespace fairlock::protocol
