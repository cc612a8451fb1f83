// Writes replies in RESP2 or RESP3.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/wire_error.h"

namespace fairlock::protocol {

enum class RespVersion : std::uint8_t { kResp2 = 2, kResp3 = 3 };

// Complete encoded replies.
namespace replies {
inline constexpr std::string_view kOk = "+OK\r\n";
inline constexpr std::string_view kPong = "+PONG\r\n";
inline constexpr std::string_view kQueued = "+QUEUED\r\n";
inline constexpr std::string_view kZero = ":0\r\n";
inline constexpr std::string_view kOne = ":1\r\n";
inline constexpr std::string_view kEmptyBulk = "$0\r\n\r\n";
inline constexpr std::string_view kEmptyArray = "*0\r\n";
inline constexpr std::string_view kNullBulk = "$-1\r\n";   // RESP2
inline constexpr std::string_view kNullArray = "*-1\r\n";  // RESP2
inline constexpr std::string_view kNull = "_\r\n";         // RESP3
}  // namespace replies

// Longer error texts are truncated.
inline constexpr std::size_t kErrorTextBytesMax = 4096;

// Appends replies to a string owned by the caller. After a header (array, map, set, push) the
// caller must write as many replies as the header announces. Cheap to construct for a single reply.
class ReplyWriter {
 public:
  ReplyWriter(std::string& out, RespVersion version) : out_(out), version_(version) {}

  RespVersion version() const { return version_; }
  // The code of the error that this writer has written; nullopt if it has not written an error.
  std::optional<ErrorCode> error() const { return error_; }
  // All bytes of the string, including those before the first reply; valid until the next reply.
  std::string_view written() const { return out_; }

  void Ok() { out_.append(replies::kOk); }
  void Null();
  void NullArray();
  void Integer(std::int64_t value);
  void Bulk(std::string_view bytes);
  // In Simple and Error, bytes that are not printable ASCII are written as \xHH, \r, \n or \t, so
  // that the reply is always one line.
  void Simple(std::string_view text);
  void Error(ErrorCode code, std::string_view text);
  void Error(const WireError& error) { Error(error.code, error.text); }

  void ArrayHeader(std::size_t count);
  // In RESP2, this is an array with twice the count.
  void MapHeader(std::size_t pairs);
  // In RESP2, this is an array.
  void SetHeader(std::size_t count);
  // In RESP2, this is an array.
  void PushHeader(std::size_t count);

  // Writes the shortest digits that read back as the same number. In RESP2, this is a bulk.
  void Double(double value);
  // Writes a number that has been formatted already. In RESP2, this is a bulk.
  void DoubleText(std::string_view text);
  // In RESP2, this is the integer 1 or 0.
  void Boolean(bool value);
  // `format` has three letters, such as "txt". In RESP2, the text is written as a bulk.
  void Verbatim(std::string_view format, std::string_view text);

 private:
  bool IsResp3() const { return version_ == RespVersion::kResp3; }
  void Line(std::string_view text, std::size_t bytes_max);

  std::string& out_;
  RespVersion version_;
  std::optional<ErrorCode> error_;
};

}  // namespace fairlock::protocol
