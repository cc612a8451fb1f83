#include "protocol/reply_writer.h"

#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <limits>

#include "protocol/header_line.h"
#include "text/ascii.h"
#include "text/hexadecimal.h"

namespace fairlock::protocol {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

// Large enough for "-1.7976931348623157e+308" and for every integer.
using Digits = std::array<char, 32>;

template <typename Number>
std::string_view Format(Digits& digits, Number value) {
  const std::to_chars_result end = std::to_chars(digits.begin(), digits.end(), value);
  assert(end.ec == std::errc{});
  return {digits.data(), static_cast<std::size_t>(end.ptr - digits.data())};
}

std::string_view FormatDouble(Digits& digits, double value) {
  if (std::isnan(value)) return "nan";  // because to_chars might write a sign
  return Format(digits, value);
}

}  // namespace

void ReplyWriter::Null() { out_.append(IsResp3() ? replies::kNull : replies::kNullBulk); }

void ReplyWriter::NullArray() { out_.append(IsResp3() ? replies::kNull : replies::kNullArray); }

void ReplyWriter::Integer(std::int64_t value) { AppendHeaderLine(out_, ':', value); }

void ReplyWriter::Bulk(std::string_view bytes) {
  AppendHeaderLine(out_, '$', bytes.size());
  out_.append(bytes).append(kLineEnd);
}

void ReplyWriter::Simple(std::string_view text) {
  out_.push_back('+');
  Line(text, std::numeric_limits<std::size_t>::max());
}

void ReplyWriter::Error(ErrorCode code, std::string_view text) {
  error_ = code;
  out_.push_back('-');
  out_.append(Word(code)).push_back(' ');
  Line(text, kErrorTextBytesMax);
}

void ReplyWriter::Line(std::string_view text, std::size_t bytes_max) {
  const std::size_t start = out_.size();
  for (const char byte : text) {
    if (out_.size() - start >= bytes_max) break;
    if (text::IsPrintable(byte)) {
      out_.push_back(byte);
    } else {
      text::AppendEscape(out_, byte);
    }
  }
  out_.append(kLineEnd);
}

void ReplyWriter::ArrayHeader(std::size_t count) { AppendHeaderLine(out_, '*', count); }

void ReplyWriter::MapHeader(std::size_t pairs) {
  if (IsResp3()) {
    AppendHeaderLine(out_, '%', pairs);
  } else {
    AppendHeaderLine(out_, '*', pairs * 2);
  }
}

void ReplyWriter::SetHeader(std::size_t count) {
  AppendHeaderLine(out_, IsResp3() ? '~' : '*', count);
}

void ReplyWriter::PushHeader(std::size_t count) {
  AppendHeaderLine(out_, IsResp3() ? '>' : '*', count);
}

void ReplyWriter::Double(double value) {
  Digits digits;
  DoubleText(FormatDouble(digits, value));
}

void ReplyWriter::DoubleText(std::string_view text) {
  if (!IsResp3()) return Bulk(text);
  out_.push_back(',');
  out_.append(text).append(kLineEnd);
}

void ReplyWriter::Boolean(bool value) {
  if (!IsResp3()) return Integer(value ? 1 : 0);
  out_.append(value ? "#t\r\n" : "#f\r\n");
}

void ReplyWriter::Verbatim(std::string_view format, std::string_view text) {
  assert(format.size() == 3);
  if (!IsResp3()) return Bulk(text);
  AppendHeaderLine(out_, '=', format.size() + 1 + text.size());
  out_.append(format).append(":").append(text).append(kLineEnd);
}

}  // namespace fairlock::protocol
