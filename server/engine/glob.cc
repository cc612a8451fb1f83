#include "server/engine/glob.h"

#include <optional>
#include <utility>

namespace fairlock::engine {

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

// Whether a pattern without star stands for itself.
bool IsLiteral(std::string_view pattern) {
  return pattern.find('?') == pattern.npos && pattern.find('[') == pattern.npos &&
         pattern.find('\\') == pattern.npos;
}

}  // namespace

bool MatchesGlob(std::string_view pattern, std::string_view text) {
  const std::string_view head = pattern.substr(0, pattern.find('*'));
  if (IsLiteral(head)) {
    if (!text.starts_with(head)) return false;
    pattern.remove_prefix(head.size());
    text.remove_prefix(head.size());
  }
  // Only the last star needs to be tried again: what an earlier one took can never be wrong.
  std::optional<std::string_view> pattern_behind_star;
  std::string_view text_at_star;
  while (!text.empty()) {
    if (!pattern.empty() && pattern.front() == '*') {
      pattern.remove_prefix(1);
      // What is behind the last star has only one place to match.
      if (pattern.find('*') == pattern.npos && IsLiteral(pattern)) return text.ends_with(pattern);
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

GlobShape ShapeOf(std::string_view pattern) {
  GlobShape shape;
  while (!pattern.empty()) {
    char element = pattern.front();
    pattern.remove_prefix(1);
    if (element == '*' || element == '?') {
      shape.is_exact = false;
      continue;
    }
    if (element == '[') {
      shape.is_exact = false;
      MatchesSet(pattern, '\0');
      continue;
    }
    if (element == '\\' && !pattern.empty()) pattern.remove_prefix(1);
    ++shape.literal_bytes;
  }
  return shape;
}

}  // namespace fairlock::engine
