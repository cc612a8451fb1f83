#include "server/command/text.h"

#include <algorithm>
#include <charconv>

namespace fairlock::command {

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && ToUpper(a[i]) != ToUpper(b[i])) return false;
  }
  return true;
}

std::string Lowered(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(), ToLower);
  return lowered;
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

namespace {

// Matches one character against the set that begins behind '['; moves `pattern` behind its ']'.
bool MatchesSet(std::string_view& pattern, char c) {
  const bool is_negated = !pattern.empty() && pattern.front() == '^';
  if (is_negated) pattern.remove_prefix(1);
  bool is_matched = false;
  while (!pattern.empty() && pattern.front() != ']') {
    if (pattern.front() == '\\' && pattern.size() > 1) pattern.remove_prefix(1);
    char low = pattern.front();
    pattern.remove_prefix(1);
    char high = low;
    if (pattern.size() > 1 && pattern.front() == '-' && pattern[1] != ']') {
      high = pattern[1];
      pattern.remove_prefix(2);
    }
    if (low > high) std::swap(low, high);
    is_matched = is_matched || (c >= low && c <= high);
  }
  if (!pattern.empty()) pattern.remove_prefix(1);
  return is_matched != is_negated;
}

// Takes one element, not a star, off the pattern; true: it matches the character.
bool TakeElement(std::string_view& pattern, char c) {
  const char element = pattern.front();
  pattern.remove_prefix(1);
  if (element == '?') return true;
  if (element == '[') return MatchesSet(pattern, c);
  if (element == '\\' && !pattern.empty()) {
    const char literal = pattern.front();
    pattern.remove_prefix(1);
    return literal == c;
  }
  return element == c;
}

}  // namespace

bool MatchesGlob(std::string_view pattern, std::string_view text) {
  // Only the last star needs to be tried again: what an earlier one took can never be wrong.
  std::optional<std::string_view> pattern_behind_star;
  std::string_view text_at_star;
  while (!text.empty()) {
    if (!pattern.empty() && pattern.front() == '*') {
      pattern.remove_prefix(1);
      pattern_behind_star = pattern;
      text_at_star = text;
      continue;
    }
    if (!pattern.empty() && TakeElement(pattern, text.front())) {
      text.remove_prefix(1);
      continue;
    }
    if (!pattern_behind_star) return false;
    text_at_star.remove_prefix(1);
    text = text_at_star;
    pattern = *pattern_behind_star;
  }
  while (!pattern.empty() && pattern.front() == '*') pattern.remove_prefix(1);
  return pattern.empty();
}

std::string Quoted(std::string_view bytes, std::size_t bytes_max) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string quoted = "'";
  for (const char c : bytes.substr(0, bytes_max)) {
    if (c >= ' ' && c <= '~' && c != '\'' && c != '\\') {
      quoted += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    quoted.append("\\x").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
  }
  if (bytes.size() > bytes_max) quoted += "...";
  quoted += "'";
  return quoted;
}

}  // namespace fairlock::command
