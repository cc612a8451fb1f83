#include "server/script/json_reader.h"

#include <charconv>
#include <cstdint>
#include <lua.hpp>
#include <optional>

#include "server/script/bounded_text.h"
#include "server/script/json_writer.h"
#include "server/script/raise.h"
#include "server/script/sandbox.h"

namespace fairlock::script {

namespace {

class JsonReader {
 public:
  JsonReader(lua_State* lua, std::string_view text) : lua_(lua), text_(text) {}

  void ReadAll();

 private:
  void ReadValue();
  void ReadText();
  void ReadPlainText(std::size_t end);
  void ReadNumber();
  void ReadArray();
  void ReadObject();
  void ReadWord(std::string_view word);
  void ReadEscape(BoundedText& out);
  std::optional<std::uint32_t> ReadHex();
  void AppendCodePoint(BoundedText& out, std::uint32_t code);

  void Enter();
  void SkipSpace();
  // Returns the next byte, or 0 at the end.
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Take(char c);
  [[noreturn]] void Fail(const char* expected);
  [[noreturn]] void FailAt(const char* expected, const char* found, std::size_t at);

  lua_State* lua_;
  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

const char* NameOfToken(std::string_view rest) {
  if (rest.empty()) return "T_END";
  switch (rest.front()) {
    case '{':
      return "T_OBJ_BEGIN";
    case '}':
      return "T_OBJ_END";
    case '[':
      return "T_ARR_BEGIN";
    case ']':
      return "T_ARR_END";
    case '"':
      return "T_STRING";
    case ',':
      return "T_COMMA";
    case ':':
      return "T_COLON";
    default:
      break;
  }
  if ((rest.front() >= '0' && rest.front() <= '9') || rest.front() == '-') return "T_NUMBER";
  if (rest.starts_with("true") || rest.starts_with("false")) return "T_BOOLEAN";
  return rest.starts_with("null") ? "T_NULL" : "invalid token";
}

void JsonReader::FailAt(const char* expected, const char* found, std::size_t at) {
  Raise(lua_, "Expected %s but found %s at character %d", expected, found,
        static_cast<int>(at) + 1);
}

void JsonReader::Fail(const char* expected) {
  FailAt(expected, NameOfToken(text_.substr(at_)), at_);
}

void JsonReader::SkipSpace() {
  at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
}

bool JsonReader::Take(char c) {
  SkipSpace();
  if (Peek() != c) return false;
  ++at_;
  return true;
}

void JsonReader::Enter() {
  ++at_;
  if (++depth_ > kJsonDepthMax) {
    Raise(lua_, "Found too many nested data structures (%d) at character %d", depth_,
          static_cast<int>(at_));
  }
  luaL_checkstack(lua_, 3, "Found too many nested data structures");
}

void JsonReader::ReadAll() {
  ReadValue();
  SkipSpace();
  if (at_ < text_.size()) Fail("the end");
}

void JsonReader::ReadValue() {
  Sandbox::Of(lua_).budget().Charge(lua_, 1);
  SkipSpace();
  switch (Peek()) {
    case '{':
      return ReadObject();
    case '[':
      return ReadArray();
    case '"':
      return ReadText();
    case 't':
      ReadWord("true");
      return lua_pushboolean(lua_, 1);
    case 'f':
      ReadWord("false");
      return lua_pushboolean(lua_, 0);
    case 'n':
      ReadWord("null");
      return lua_pushlightuserdata(lua_, nullptr);
    default:
      return ReadNumber();
  }
}

void JsonReader::ReadWord(std::string_view word) {
  if (!text_.substr(at_).starts_with(word)) Fail("value");
  at_ += word.size();
}

void JsonReader::ReadNumber() {
  const std::string_view rest = text_.substr(at_);
  const char first = Peek();
  if (first != '-' && (first < '0' || first > '9')) Fail("value");
  double number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  const bool is_number = error == std::errc() && end[-1] >= '0' && end[-1] <= '9';
  if (!is_number) FailAt("value", "invalid number", at_);
  at_ += static_cast<std::size_t>(end - rest.data());
  lua_pushnumber(lua_, number);
}

void JsonReader::ReadArray() {
  Enter();
  lua_newtable(lua_);
  if (!Take(']')) {
    for (int i = 1;; ++i) {
      ReadValue();
      lua_rawseti(lua_, -2, i);
      if (Take(']')) break;
      if (!Take(',')) Fail("comma or array end");
    }
  }
  --depth_;
}

void JsonReader::ReadObject() {
  Enter();
  lua_newtable(lua_);
  if (!Take('}')) {
    do {
      SkipSpace();
      if (Peek() != '"') Fail("object key string");
      ReadText();
      if (!Take(':')) Fail("colon");
      ReadValue();
      lua_rawset(lua_, -3);
      if (Take('}')) break;
      if (!Take(',')) Fail("comma or object end");
    } while (true);
  }
  --depth_;
}

void JsonReader::ReadText() {
  ++at_;
  const std::size_t plain_end = text_.find_first_of("\"\\", at_);
  if (plain_end != std::string_view::npos && text_[plain_end] == '"') {
    return ReadPlainText(plain_end);
  }
  BoundedText out(lua_);
  while (Peek() != '"' || at_ == text_.size()) {
    if (at_ == text_.size()) FailAt("value", "unexpected end of string", at_);
    if (Peek() == '\\') {
      ReadEscape(out);
    } else {
      out.Append(text_[at_++]);
    }
  }
  ++at_;
  out.Push();
}

void JsonReader::ReadPlainText(std::size_t end) {
  Sandbox::Of(lua_).budget().ChargeBytes(lua_, end - at_);
  lua_pushlstring(lua_, text_.data() + at_, end - at_);
  at_ = end + 1;
}

void JsonReader::ReadEscape(BoundedText& out) {
  static constexpr std::string_view kNames = "\"\\/bfnrt";
  static constexpr std::string_view kNamed = "\"\\/\b\f\n\r\t";
  const std::size_t begin = at_++;
  const char name = Peek();
  ++at_;
  const auto place = at_ > text_.size() ? std::string_view::npos : kNames.find(name);
  if (place != std::string_view::npos) return out.Append(kNamed[place]);
  if (name != 'u') FailAt("value", "invalid escape code", begin);
  auto code = ReadHex();
  // Two surrogates form a pair, which encodes one code point.
  if (code && *code >= 0xd800 && *code < 0xdc00) {
    const bool is_pair = text_.substr(std::min(at_, text_.size())).starts_with("\\u");
    at_ += is_pair ? 2 : 0;
    const auto low = is_pair ? ReadHex() : std::nullopt;
    const bool is_low = low && *low >= 0xdc00 && *low < 0xe000;
    code =
        is_low ? std::optional((((*code & 0x3ff) << 10) | (*low & 0x3ff)) + 0x10000) : std::nullopt;
  } else if (code && *code >= 0xdc00 && *code < 0xe000) {
    code = std::nullopt;
  }
  if (!code) FailAt("value", "invalid unicode escape code", begin);
  AppendCodePoint(out, *code);
}

// Reads four hexadecimal digits.
std::optional<std::uint32_t> JsonReader::ReadHex() {
  if (at_ + 4 > text_.size()) return std::nullopt;
  std::uint32_t code = 0;
  const char* begin = text_.data() + at_;
  const auto [end, error] = std::from_chars(begin, begin + 4, code, 16);
  if (error != std::errc() || end != begin + 4) return std::nullopt;
  at_ += 4;
  return code;
}

// Appends the code point in UTF-8.
void JsonReader::AppendCodePoint(BoundedText& out, std::uint32_t code) {
  const auto append = [&](std::uint32_t byte) { out.Append(static_cast<char>(byte)); };
  if (code < 0x80) return append(code);
  if (code < 0x800) {
    append(0xc0 | (code >> 6));
  } else if (code < 0x10000) {
    append(0xe0 | (code >> 12));
    append(0x80 | ((code >> 6) & 0x3f));
  } else {
    append(0xf0 | (code >> 18));
    append(0x80 | ((code >> 12) & 0x3f));
    append(0x80 | ((code >> 6) & 0x3f));
  }
  append(0x80 | (code & 0x3f));
}

}  // namespace

void ReadJson(lua_State* lua, std::string_view text) { JsonReader(lua, text).ReadAll(); }

}  // namespace fairlock::script
