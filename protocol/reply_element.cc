#include "protocol/reply_element.h"

#include <algorithm>
#include <optional>

#include "protocol/header_line.h"
#include "text/number.h"

namespace fairlock::protocol {
namespace {

using Status = ReplyElement::Status;
using LineStatus = LengthLine::Status;

constexpr std::size_t kLineBytesMax = 64 * 1024;
constexpr std::size_t kShortestElementBytes = 3;  // _ CR LF

ReplyElement Partial(std::size_t needed_bytes) { return {.needed_bytes = needed_bytes}; }

ReplyElement Invalid(std::string_view error) {
  return {.status = Status::kInvalid, .error = error};
}

ReplyElement Whole(ReplyType type, std::size_t end) {
  return {.status = Status::kWhole, .type = type, .end = end};
}

std::string_view WithoutPlus(std::string_view number) {
  const bool has_plus = number.size() > 1 && number[0] == '+' && number[1] != '-';
  return has_plus ? number.substr(1) : number;
}

template <typename Number>
std::optional<Number> ReadNumber(std::string_view text) {
  return text::ParseNumber<Number>(WithoutPlus(text));
}

bool IsWholeNumber(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

ReplyElement ReadInteger(std::string_view text, std::size_t end) {
  const auto number = ReadNumber<std::int64_t>(text);
  if (!number) return Invalid("invalid integer");
  ReplyElement element = Whole(ReplyType::kInteger, end);
  element.integer = *number;
  return element;
}

ReplyElement ReadDouble(std::string_view text, std::size_t end) {
  const auto number = ReadNumber<double>(text);
  if (!number) return Invalid("invalid double");
  ReplyElement element = Whole(ReplyType::kDouble, end);
  element.number = *number;
  return element;
}

ReplyElement ReadBoolean(std::string_view text, std::size_t end) {
  if (text != "t" && text != "f") return Invalid("invalid boolean");
  ReplyElement element = Whole(ReplyType::kBoolean, end);
  element.integer = text == "t" ? 1 : 0;
  return element;
}

ReplyElement ReadText(ReplyType type, std::string_view text, std::size_t end) {
  ReplyElement element = Whole(type, end);
  element.text = text;
  return element;
}

// Reads an element that is a single line; `text` is the line without its letter.
ReplyElement ReadLine(char kind, std::string_view text, std::size_t end) {
  switch (kind) {
    case '+':
      return ReadText(ReplyType::kSimple, text, end);
    case '-':
      return ReadText(ReplyType::kError, text, end);
    case ':':
      return ReadInteger(text, end);
    case ',':
      return ReadDouble(text, end);
    case '#':
      return ReadBoolean(text, end);
    case '(':
      if (!IsWholeNumber(text)) return Invalid("invalid big number");
      return ReadText(ReplyType::kBigNumber, text, end);
    default:
      if (!text.empty()) return Invalid("invalid null");
      return Whole(ReplyType::kNull, end);
  }
}

ReplyElement FindLine(std::string_view input, std::size_t at, std::size_t bytes_max) {
  const std::string_view window = input.substr(at, kLineBytesMax);
  const std::size_t text_end = window.find('\r');
  if (text_end == std::string_view::npos || text_end + 1 == window.size()) {
    if (window.size() == kLineBytesMax) return Invalid("too long line");
    return Partial(input.size() + 1);
  }
  if (window[text_end + 1] != '\n') return Invalid("invalid line end");
  const std::size_t end = at + text_end + kLineEndBytes;
  if (end > bytes_max) return Invalid("too big reply");
  return ReadLine(input[at], window.substr(1, text_end - 1), end);
}

ReplyElement SplitVerbatim(ReplyElement element) {
  constexpr std::size_t kFormatBytes = 3;
  if (element.text.size() <= kFormatBytes || element.text[kFormatBytes] != ':') {
    return Invalid("invalid verbatim text");
  }
  element.format = element.text.substr(0, kFormatBytes);
  element.text.remove_prefix(kFormatBytes + 1);
  return element;
}

ReplyElement ReadBody(ReplyType type, std::string_view input, std::size_t at, std::uint64_t size,
                      std::size_t bytes_max) {
  if (at > bytes_max || size > bytes_max - at) return Invalid("too big reply");
  const std::size_t end = at + size + kLineEndBytes;
  if (end > bytes_max) return Invalid("too big reply");
  if (end > input.size()) return Partial(end);
  if (!input.substr(at + size).starts_with("\r\n")) {
    return Invalid("bulk string without a trailing CRLF");
  }
  ReplyElement element = ReadText(type, input.substr(at, size), end);
  return type == ReplyType::kVerbatim ? SplitVerbatim(element) : element;
}

ReplyElement ReadChildren(ReplyType type, std::size_t end, std::uint64_t children,
                          std::size_t bytes_max) {
  if (end > bytes_max || children > (bytes_max - end) / kShortestElementBytes) {
    return Invalid("too big reply");
  }
  ReplyElement element = Whole(type, end);
  element.children = children;
  return element;
}

// Reads an element whose first line contains a length or a count.
ReplyElement ReadCounted(std::string_view input, std::size_t at, std::size_t bytes_max) {
  const char kind = input[at];
  const LengthLine line = ReadLengthLine(input.data() + at + 1, input.data() + input.size());
  if (line.status == LineStatus::kPartial) return Partial(input.size() + 1);
  if (line.status != LineStatus::kWhole) return Invalid("invalid length");
  const auto end = static_cast<std::size_t>(line.end - input.data());
  if (line.negative) {
    const bool is_null = line.magnitude == 1 && (kind == '$' || kind == '*');
    return is_null ? Whole(ReplyType::kNull, end) : Invalid("negative length");
  }
  if (line.magnitude > bytes_max) return Invalid("too big reply");
  switch (kind) {
    case '$':
      return ReadBody(ReplyType::kBulk, input, end, line.magnitude, bytes_max);
    case '!':
      return ReadBody(ReplyType::kError, input, end, line.magnitude, bytes_max);
    case '=':
      return ReadBody(ReplyType::kVerbatim, input, end, line.magnitude, bytes_max);
    case '*':
      return ReadChildren(ReplyType::kArray, end, line.magnitude, bytes_max);
    case '~':
      return ReadChildren(ReplyType::kSet, end, line.magnitude, bytes_max);
    case '>':
      return ReadChildren(ReplyType::kPush, end, line.magnitude, bytes_max);
    default:
      return ReadChildren(ReplyType::kMap, end, line.magnitude * 2, bytes_max);
  }
}

ReplyElement ReadAnyElement(std::string_view input, std::size_t at, std::size_t bytes_max) {
  switch (input[at]) {
    case '+':
    case '-':
    case ':':
    case ',':
    case '#':
    case '(':
    case '_':
      return FindLine(input, at, bytes_max);
    case '$':
    case '!':
    case '=':
    case '*':
    case '~':
    case '>':
    case '%':
      return ReadCounted(input, at, bytes_max);
    case '|': {
      ReplyElement element = ReadCounted(input, at, bytes_max);
      element.is_attribute = true;
      return element;
    }
    default:
      return Invalid("unknown type of reply");
  }
}

}  // namespace

ReplyElement ReadReplyElement(std::string_view input, std::size_t at, std::size_t bytes_max) {
  ReplyElement element = at < input.size() ? ReadAnyElement(input, at, bytes_max) : Partial(at + 1);
  const bool never_whole = element.status == Status::kPartial && element.needed_bytes > bytes_max;
  if (never_whole) element = Invalid("too big reply");
  return element;
}

}  // namespace fairlock::protocol
