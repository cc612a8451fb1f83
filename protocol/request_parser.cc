#include "protocol/request_parser.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "protocol/header_line.h"
#include "protocol/http_line.h"
#include "protocol/inline_words.h"
#include "text/ascii.h"
#include "text/hexadecimal.h"

namespace fairlock::protocol {
namespace {

using LineStatus = LengthLine::Status;

constexpr char kTlsHandshake = 0x16;
constexpr std::ptrdiff_t kShortestBulkBytes = 6;  // $0 CR LF CR LF

// Holds the text "expected '$', got 'x'" for each possible byte x, because error texts are static.
class ExpectedBulkTexts {
 public:
  constexpr ExpectedBulkTexts() {
    for (std::size_t byte = 0; byte < texts_.size(); ++byte) texts_[byte] = Make(byte);
  }

  constexpr std::string_view For(char byte) const {
    const Text& text = texts_[static_cast<unsigned char>(byte)];
    return {text.bytes.data(), text.size};
  }

 private:
  struct Text {
    std::array<char, 24> bytes{};
    std::size_t size = 0;

    constexpr void Append(std::string_view part) {
      for (const char byte : part) bytes[size++] = byte;
    }
  };

  static constexpr Text Make(std::size_t byte) {
    Text text;
    text.Append("expected '$', got '");
    if (text::IsPrintable(static_cast<char>(byte))) {
      text.bytes[text.size++] = static_cast<char>(byte);
    } else {
      text.Append("\\x");
      text.bytes[text.size++] = text::kHexDigits[byte >> 4];
      text.bytes[text.size++] = text::kHexDigits[byte & 0xf];
    }
    text.Append("'");
    return text;
  }

  std::array<Text, 256> texts_{};
};

constexpr ExpectedBulkTexts kExpectedBulk;

bool IsLineEnd(const char* at) { return std::memcmp(at, "\r\n", kLineEndBytes) == 0; }

// Reads a bulk in its most common form: complete, with a length of one or two digits. Returns the
// start of the next bulk, or nullptr if the input has another form.
inline const char* ReadShortBulk(const char* at, const char* end, std::uint32_t bytes_max,
                                 Arguments& out) {
  if (end - at < kShortestBulkBytes || at[0] != '$') return nullptr;
  auto size = static_cast<unsigned>(at[1] - '0');
  if (size > 9) return nullptr;
  const char* line_end = at + 2;
  if (*line_end != '\r') {
    const auto digit = static_cast<unsigned>(*line_end - '0');
    if (digit > 9 || size == 0) return nullptr;
    size = size * 10 + digit;
    ++line_end;
  }
  const char* const body = line_end + kLineEndBytes;
  const auto bytes_needed = static_cast<std::ptrdiff_t>(size + kLineEndBytes);
  if (!IsLineEnd(line_end) || end - body < bytes_needed || size > bytes_max) return nullptr;
  if (!IsLineEnd(body + size)) return nullptr;
  out.Add({body, size});
  return body + bytes_needed;
}

// The result of one attempt to read a bulk: an error, the input size needed before the next
// attempt, or the bulk.
struct BulkStep {
  std::string_view error = {};
  std::size_t needed_bytes = 0;
  std::string_view body = {};
};

BulkStep ReadBulk(std::string_view input, std::size_t at, const RequestLimits& limits) {
  if (at == input.size()) return {.needed_bytes = at + 1};
  if (input[at] != '$') return {.error = kExpectedBulk.For(input[at])};
  const LengthLine line = ReadLengthLine(input.data() + at + 1, input.data() + input.size());
  if (line.status == LineStatus::kPartial) return {.needed_bytes = input.size() + 1};
  if (line.status == LineStatus::kTooLong) return {.error = "too big bulk count string"};
  if (line.status == LineStatus::kInvalid || line.negative) {
    return {.error = "invalid bulk length"};
  }
  if (line.magnitude > limits.argument_bytes_max) {
    return {.error = limits.before_auth ? "unauthenticated bulk length" : "invalid bulk length"};
  }
  const auto body_at = static_cast<std::size_t>(line.end - input.data());
  const std::size_t needed_bytes = body_at + line.magnitude + kLineEndBytes;
  if (needed_bytes > limits.request_bytes_max) {
    return {.error = limits.before_auth ? "unauthenticated bulk length" : "too big request"};
  }
  if (needed_bytes > input.size()) return {.needed_bytes = needed_bytes};
  if (!IsLineEnd(input.data() + needed_bytes - kLineEndBytes)) {
    return {.error = "expected CRLF after the bulk string"};
  }
  return {.needed_bytes = needed_bytes, .body = input.substr(body_at, line.magnitude)};
}

std::string_view SplitError(SplitStatus status, const RequestLimits& limits) {
  switch (status) {
    case SplitStatus::kSplit:
      break;
    case SplitStatus::kUnbalancedQuotes:
      return "unbalanced quotes in request";
    case SplitStatus::kZeroByte:
      return "zero byte in inline request";
    case SplitStatus::kTooLongWord:
      return "too big inline request";
    case SplitStatus::kTooManyWords:
      return limits.before_auth ? "unauthenticated multibulk length" : "too big inline request";
  }
  return {};
}

}  // namespace

ParseResult RequestParser::Parse(std::string_view input, const RequestLimits& limits,
                                 Arguments& out) {
  ParseResult result;
  if (input.size() < needed_bytes_) return result;
  while (result.consumed < input.size()) {
    const std::string_view rest = input.substr(result.consumed);
    const Found found = rest.front() == '*' ? ParseMultibulk(rest, limits, out, result)
                                            : ParseInline(rest, limits, out, result);
    if (found == Found::kNothing) continue;
    if (found == Found::kRequest) {
      result.status = ParseStatus::kRequest;
      begun_ = true;
    }
    if (found == Found::kError) result.status = ParseStatus::kError;
    return result;
  }
  return result;
}

RequestParser::Found RequestParser::ParseMultibulk(std::string_view input,
                                                   const RequestLimits& limits, Arguments& out,
                                                   ParseResult& result) {
  const bool resumed = settled_bytes_ != 0;
  if (!resumed) {
    const Found found = ReadCount(input, limits, result);
    if (found != Found::kRequest) return found;
  }
  const Found found = ReadBulks(input, limits, out, result);
  if (found != Found::kRequest) return found;
  const std::size_t request_bytes = settled_bytes_;
  Restart();
  // Views from earlier calls are no longer valid. The request is complete now, so it is parsed once
  // more from the start to get valid ones.
  if (resumed) return ParseMultibulk(input, limits, out, result);
  result.consumed += request_bytes;
  return Found::kRequest;
}

RequestParser::Found RequestParser::ReadCount(std::string_view input, const RequestLimits& limits,
                                              ParseResult& result) {
  const LengthLine line = ReadLengthLine(input.data() + 1, input.data() + input.size());
  if (line.status == LineStatus::kPartial) return Await(input.size() + 1);
  if (line.status == LineStatus::kTooLong) return Fail("too big mbulk count string", result);
  if (line.status == LineStatus::kInvalid) return Fail("invalid multibulk length", result);
  const auto line_bytes = static_cast<std::uint32_t>(line.end - input.data());
  if (line.negative || line.magnitude == 0) {
    Restart();
    result.consumed += line_bytes;
    return Found::kNothing;
  }
  if (line.magnitude > limits.arguments_max) {
    return Fail(
        limits.before_auth ? "unauthenticated multibulk length" : "invalid multibulk length",
        result);
  }
  settled_bytes_ = line_bytes;
  bulks_missing_ = static_cast<std::uint32_t>(line.magnitude);
  return Found::kRequest;
}

RequestParser::Found RequestParser::ReadBulks(std::string_view input, const RequestLimits& limits,
                                              Arguments& out, ParseResult& result) {
  const char* const begin = input.data();
  const char* const end = begin + std::min<std::size_t>(input.size(), limits.request_bytes_max);
  const char* at = begin + settled_bytes_;
  std::uint32_t missing = bulks_missing_;
  out.Clear();
  for (; missing != 0; --missing) {
    if (const char* next = ReadShortBulk(at, end, limits.argument_bytes_max, out)) {
      at = next;
      continue;
    }
    const BulkStep step = ReadBulk(input, static_cast<std::size_t>(at - begin), limits);
    if (!step.error.empty()) return Fail(step.error, result);
    if (step.needed_bytes > input.size()) {
      settled_bytes_ = static_cast<std::uint32_t>(at - begin);
      bulks_missing_ = missing;
      return Await(step.needed_bytes);
    }
    out.Add(step.body);
    at = begin + step.needed_bytes;
  }
  settled_bytes_ = static_cast<std::uint32_t>(at - begin);
  return Found::kRequest;
}

RequestParser::Found RequestParser::ParseInline(std::string_view input, const RequestLimits& limits,
                                                Arguments& out, ParseResult& result) {
  if (input.front() == kTlsHandshake) return Fail("TLS handshake; this port speaks RESP", result);
  const std::string_view window = input.substr(0, limits.inline_bytes_max);
  const std::size_t line_bytes = window.find('\n', settled_bytes_);
  if (line_bytes == std::string_view::npos) {
    if (window.size() == limits.inline_bytes_max) return Fail("too big inline request", result);
    settled_bytes_ = static_cast<std::uint32_t>(input.size());
    return Await(input.size() + 1);
  }
  Restart();
  std::string_view line = window.substr(0, line_bytes);
  if (line.ends_with('\r')) line.remove_suffix(1);
  const SplitStatus split = SplitInlineWords(line, limits, out);
  if (split != SplitStatus::kSplit) return Fail(SplitError(split, limits), result);
  if (IsHttpLine(out.views(), !begun_)) {
    return Fail("HTTP request; this port speaks RESP", result);
  }
  result.consumed += line_bytes + 1;
  return out.empty() ? Found::kNothing : Found::kRequest;
}

RequestParser::Found RequestParser::Await(std::size_t needed_bytes) {
  needed_bytes_ = static_cast<std::uint32_t>(needed_bytes);
  return Found::kNeedMore;
}

RequestParser::Found RequestParser::Fail(std::string_view text, ParseResult& result) {
  result.error = {ErrorCode::kProtocol, text};
  return Found::kError;
}

}  // namespace fairlock::protocol
