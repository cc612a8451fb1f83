#include "server/script/pattern_matcher.h"

#include <cctype>
#include <cstring>
#include <lua.hpp>
#include <utility>

#include "server/script/raise.h"
#include "server/script/sandbox.h"

namespace fairlock::script {

namespace {

constexpr std::size_t kTriesPerCharge = 64;
constexpr std::size_t kSetBytesPerTry = 8;

unsigned char Byte(char c) { return static_cast<unsigned char>(c); }

// The letter selects a class as in %a or %d. An upper-case letter inverts the class; any other byte
// matches itself.
bool ClassMatches(unsigned char c, unsigned char letter) {
  bool is_in = false;
  switch (std::tolower(letter)) {
    case 'a':
      is_in = std::isalpha(c) != 0;
      break;
    case 'c':
      is_in = std::iscntrl(c) != 0;
      break;
    case 'd':
      is_in = std::isdigit(c) != 0;
      break;
    case 'l':
      is_in = std::islower(c) != 0;
      break;
    case 'p':
      is_in = std::ispunct(c) != 0;
      break;
    case 's':
      is_in = std::isspace(c) != 0;
      break;
    case 'u':
      is_in = std::isupper(c) != 0;
      break;
    case 'w':
      is_in = std::isalnum(c) != 0;
      break;
    case 'x':
      is_in = std::isxdigit(c) != 0;
      break;
    case 'z':
      is_in = c == 0;
      break;
    default:
      return letter == c;
  }
  return std::isupper(letter) != 0 ? !is_in : is_in;
}

}  // namespace

PatternMatcher::PatternMatcher(lua_State* lua, std::string_view subject, std::string_view pattern)
    : lua_(lua),
      subject_(subject),
      subject_end_(subject.data() + subject.size()),
      pattern_(pattern.data()),
      pattern_end_(pattern.data() + pattern.size()) {}

const char* PatternMatcher::MatchAt(const char* begin) {
  captures_ = 0;
  depth_ = 0;
  return Match(begin, pattern_);
}

void PatternMatcher::CountTries(std::size_t tries) {
  tries_ += tries;
  if (tries_ < kTriesPerCharge) return;
  Sandbox::Of(lua_).budget().Charge(lua_, std::exchange(tries_, 0));
}

// Loops over the subject and the pattern as long as there is only one way to match. Where there are
// several, calls itself for each of them.
const char* PatternMatcher::Match(const char* s, const char* p) {
  if (depth_ == kDepthMax) Raise(lua_, "pattern too complex");
  ++depth_;
  bool is_settled = false;
  const char* end = nullptr;
  while (!is_settled) {
    CountTries(1);
    if (p == pattern_end_) {
      end = s;
      break;
    }
    end = MatchSpecial(s, p, is_settled);
  }
  --depth_;
  return end;
}

// Handles a pattern item that is not a class of bytes. If `is_settled` is set, the result is final;
// otherwise `s` and `p` point after the item.
const char* PatternMatcher::MatchSpecial(const char*& s, const char*& p, bool& is_settled) {
  const char next = p + 1 < pattern_end_ ? p[1] : '\0';
  const bool has_next = p + 1 < pattern_end_;
  is_settled = true;
  if (*p == '(') {
    return next == ')' ? OpenCapture(s, p + 2, kPosition) : OpenCapture(s, p + 1, kOpen);
  }
  if (*p == ')') return CloseCapture(s, p + 1);
  if (*p == '$' && !has_next) return s == subject_end_ ? s : nullptr;
  if (*p == '%' && next == 'b') {
    s = SkipBalanced(s, p + 2);
    p += 4;
    is_settled = s == nullptr;
    return nullptr;
  }
  if (*p == '%' && next == 'f') {
    p += 2;
    if (p == pattern_end_ || *p != '[') Raise(lua_, "missing '[' after '%%f' in pattern");
    const char* set = p;
    p = EndOfItem(p);
    is_settled = !IsAtFrontier(s, set, p - 1);
    return nullptr;
  }
  if (*p == '%' && std::isdigit(Byte(next)) != 0) {
    s = SkipBackReference(s, next);
    p += 2;
    is_settled = s == nullptr;
    return nullptr;
  }
  return MatchItem(s, p, is_settled);
}

const char* PatternMatcher::MatchItem(const char*& s, const char*& p, bool& is_settled) {
  const char* item_end = EndOfItem(p);
  const char quantifier = item_end < pattern_end_ ? *item_end : '\0';
  is_settled = true;
  if (quantifier == '*') return MatchLongest(s, p, item_end);
  if (quantifier == '-') return MatchShortest(s, p, item_end);
  const bool is_matched = ItemMatches(s, p, item_end);
  if (quantifier == '+') return is_matched ? MatchLongest(s + 1, p, item_end) : nullptr;
  if (quantifier == '?') {
    if (is_matched) {
      if (const char* end = Match(s + 1, item_end + 1)) return end;
    }
    p = item_end + 1;
    is_settled = false;
    return nullptr;
  }
  if (!is_matched) return nullptr;
  ++s;
  p = item_end;
  is_settled = false;
  return nullptr;
}

const char* PatternMatcher::MatchLongest(const char* s, const char* p, const char* p_end) {
  std::ptrdiff_t count = 0;
  while (ItemMatches(s + count, p, p_end)) {
    CountTries(1);
    ++count;
  }
  for (; count >= 0; --count) {
    if (const char* end = Match(s + count, p_end + 1)) return end;
  }
  return nullptr;
}

const char* PatternMatcher::MatchShortest(const char* s, const char* p, const char* p_end) {
  for (;; ++s) {
    if (const char* end = Match(s, p_end + 1)) return end;
    if (!ItemMatches(s, p, p_end)) return nullptr;
  }
}

const char* PatternMatcher::OpenCapture(const char* s, const char* p, std::ptrdiff_t kind) {
  if (captures_ == kCapturesMax) Raise(lua_, "too many captures");
  capture_[captures_] = {s, kind};
  ++captures_;
  const char* end = Match(s, p);
  if (end == nullptr) --captures_;
  return end;
}

const char* PatternMatcher::CloseCapture(const char* s, const char* p) {
  int index = captures_ - 1;
  while (index >= 0 && capture_[index].length != kOpen) --index;
  if (index < 0) Raise(lua_, "invalid pattern capture");
  capture_[index].length = s - capture_[index].begin;
  const char* end = Match(s, p);
  if (end == nullptr) capture_[index].length = kOpen;
  return end;
}

// Handles %bxy: returns the position after the y that closes the x at `s`; null if there is none.
const char* PatternMatcher::SkipBalanced(const char* s, const char* p) {
  if (pattern_end_ - p < 2) Raise(lua_, "unbalanced pattern");
  if (s == subject_end_ || *s != p[0]) return nullptr;
  int open = 1;
  while (++s < subject_end_) {
    CountTries(1);
    if (*s == p[1]) {
      if (--open == 0) return s + 1;
    } else if (*s == p[0]) {
      ++open;
    }
  }
  return nullptr;
}

const char* PatternMatcher::SkipBackReference(const char* s, char digit) {
  const int index = digit - '1';
  if (index < 0 || index >= captures_ || capture_[index].length == kOpen) {
    Raise(lua_, "invalid capture index");
  }
  if (capture_[index].length == kPosition) return nullptr;
  const auto length = static_cast<std::size_t>(capture_[index].length);
  Sandbox::Of(lua_).budget().ChargeBytes(lua_, length);
  if (static_cast<std::size_t>(subject_end_ - s) < length) return nullptr;
  return std::memcmp(capture_[index].begin, s, length) == 0 ? s + length : nullptr;
}

// Handles %f[set]: whether the previous byte is not in the set and this one is. The subject is
// treated as if zero bytes came before and after it.
bool PatternMatcher::IsAtFrontier(const char* s, const char* set, const char* set_end) {
  const unsigned char before = s == subject_.data() ? 0 : Byte(s[-1]);
  const unsigned char here = s == subject_end_ ? 0 : Byte(*s);
  return !SetMatches(before, set, set_end) && SetMatches(here, set, set_end);
}

// Returns the position after the byte, class or set that begins at `p`.
const char* PatternMatcher::EndOfItem(const char* p) {
  const char first = *p++;
  if (first == '%') {
    if (p == pattern_end_) Raise(lua_, "malformed pattern (ends with '%%')");
    return p + 1;
  }
  if (first != '[') return p;
  const char* begin = p;
  if (p < pattern_end_ && *p == '^') ++p;
  // A ']' at the start of a set is a member of the set.
  do {
    if (p == pattern_end_) Raise(lua_, "malformed pattern (missing ']')");
    if (*p++ == '%' && p < pattern_end_) ++p;
  } while (p == pattern_end_ || *p != ']');
  CountTries(static_cast<std::size_t>(p - begin) / kSetBytesPerTry);
  return p + 1;
}

bool PatternMatcher::ItemMatches(const char* s, const char* p, const char* p_end) {
  if (s >= subject_end_) return false;
  const unsigned char c = Byte(*s);
  if (*p == '.') return true;
  if (*p == '%') return ClassMatches(c, Byte(p[1]));
  if (*p == '[') return SetMatches(c, p, p_end - 1);
  return Byte(*p) == c;
}

// `set` points to the '[', and `set_end` to the ']' that closes it.
bool PatternMatcher::SetMatches(unsigned char c, const char* set, const char* set_end) {
  CountTries(static_cast<std::size_t>(set_end - set) / kSetBytesPerTry);
  const char* p = set + 1;
  const bool is_complement = p < set_end && *p == '^';
  if (is_complement) ++p;
  while (p < set_end) {
    // After a range whose end is '%', the last byte of the set can be a '%'. As in Lua, it then
    // escapes the closing ']' and matches a ']'.
    if (*p == '%') {
      if (ClassMatches(c, Byte(p[1]))) return !is_complement;
      p += 2;
    } else if (p + 2 < set_end && p[1] == '-') {
      if (Byte(p[0]) <= c && c <= Byte(p[2])) return !is_complement;
      p += 3;
    } else {
      if (Byte(*p) == c) return !is_complement;
      ++p;
    }
  }
  return is_complement;
}

void PatternMatcher::PushCapture(int index, const char* begin, const char* end) const {
  if (index >= captures_) {
    if (index != 0) Raise(lua_, "invalid capture index");
    lua_pushlstring(lua_, begin, static_cast<std::size_t>(end - begin));
    return;
  }
  const Capture& capture = capture_[index];
  if (capture.length == kOpen) Raise(lua_, "unfinished capture");
  if (capture.length == kPosition) {
    lua_pushinteger(lua_, capture.begin - subject_.data() + 1);
  } else {
    lua_pushlstring(lua_, capture.begin, static_cast<std::size_t>(capture.length));
  }
}

int PatternMatcher::PushCaptures(const char* begin, const char* end) const {
  const int count = captures_ == 0 && begin != nullptr ? 1 : captures_;
  luaL_checkstack(lua_, count, "too many captures");
  for (int i = 0; i < count; ++i) PushCapture(i, begin, end);
  return count;
}

}  // namespace fairlock::script
