#include "tests/scenarios/line_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace fairlock::scenarios {

namespace {

constexpr std::string_view kSpace = " \t\n";
constexpr std::int64_t kRepetitionsMax = 1'000'000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c) || c == '_' || c == '-';
}

struct Unit {
  std::string_view name;
  std::int64_t ms;
};

constexpr std::array<Unit, 5> kUnits = {
    {{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}};

}  // namespace

void LineReader::Fail(std::string what) {
  if (error_.empty()) error_ = std::move(what);
  at_ = text_.size();
}

void LineReader::SkipSpace() { at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size()); }

bool LineReader::AtEnd() {
  SkipSpace();
  return at_ == text_.size();
}

bool LineReader::IsNext(char c) { return !AtEnd() && text_[at_] == c; }

bool LineReader::TakeSign(std::string_view sign) {
  SkipSpace();
  if (text_.substr(at_, sign.size()) != sign) return false;
  at_ += sign.size();
  return true;
}

bool LineReader::TakeWord(std::string_view word) {
  const std::size_t before = at_;
  if (Word() == word) return true;
  at_ = before;
  return false;
}

std::string LineReader::Word() {
  SkipSpace();
  const std::size_t begin = at_;
  while (at_ < text_.size() && IsWordCharacter(text_[at_])) {
    ++at_;
    // A dot belongs to a word only if word characters surround it.
    if (at_ + 1 < text_.size() && text_[at_] == '.' && IsWordCharacter(text_[at_ + 1])) ++at_;
  }
  return std::string(text_.substr(begin, at_ - begin));
}

std::string LineReader::Name(std::string_view what) {
  std::string name = Word();
  if (name.empty()) Fail(std::string(what) + " is missing");
  return name;
}

std::string LineReader::BareWord() {
  SkipSpace();
  const std::size_t end = std::min(text_.find_first_of(kSpace, at_), text_.size());
  std::string word(text_.substr(at_, end - at_));
  at_ = end;
  return word;
}

char LineReader::Escaped() {
  const char c = at_ < text_.size() ? text_[at_++] : '\0';
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case '"':
    case '\\':
      return c;
    case 'x': {
      unsigned value = 0;
      const std::string_view digits = text_.substr(at_, 2);
      const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
      if (digits.size() == 2 && read.ptr == digits.data() + 2) {
        at_ += 2;
        return static_cast<char>(value);
      }
      break;
    }
    default:
      break;
  }
  Fail("\\ is followed by none of n r t x \" and \\");
  return '\0';
}

std::string LineReader::Text() {
  std::string text;
  if (!TakeSign("\"")) Fail("a text in double quotes is missing");
  while (!failed()) {
    if (at_ == text_.size()) {
      Fail("a double quote is not closed");
      break;
    }
    const char c = text_[at_++];
    if (c == '"') break;
    text += c == '\\' ? Escaped() : c;
  }
  Repeat(text);
  return text;
}

void LineReader::Repeat(std::string& text) {
  if (at_ == text_.size() || text_[at_] != '*') return;
  ++at_;
  const auto count = Integer();
  if (!count || *count < 0 || *count > kRepetitionsMax) {
    Fail("behind \"...\"* stands how often, at most 1000000");
    return;
  }
  std::string repeated;
  repeated.reserve(text.size() * static_cast<std::size_t>(*count));
  for (std::int64_t i = 0; i < *count; ++i) repeated += text;
  text = std::move(repeated);
}

std::optional<std::int64_t> LineReader::Integer() {
  SkipSpace();
  std::int64_t value = 0;
  const char* const begin = text_.data() + at_;
  const char* const end = text_.data() + text_.size();
  const auto read = std::from_chars(begin, end, value);
  if (read.ec != std::errc()) return std::nullopt;
  at_ += static_cast<std::size_t>(read.ptr - begin);
  return value;
}

std::int64_t LineReader::DurationMs() {
  const auto number = Integer();
  const std::string unit_name = Word();
  for (const Unit& unit : kUnits) {
    if (number && unit.name == unit_name) return *number * unit.ms;
  }
  Fail("a duration is a number with ms, s, m, h or d");
  return 0;
}

std::string_view LineReader::Rest() {
  SkipSpace();
  const std::string_view rest = text_.substr(at_);
  at_ = text_.size();
  return rest.substr(0, rest.find_last_not_of(kSpace) + 1);
}

void LineReader::Finish() {
  if (AtEnd()) return;
  std::string rest(Rest());
  Fail("'" + rest + "' is too much");
}

}  // namespace fairlock::scenarios
