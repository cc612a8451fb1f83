// Patterns of keys.
#pragma once

#include <string_view>

namespace fairlock::engine {

// Glob as in Redis: `*`, `?`, `[a-z]`, `[^a]`, `\` before a literal. O(pattern * text) at worst.
bool MatchesGlob(std::string_view pattern, std::string_view text);

// What a pattern is made of.
struct GlobShape {
  bool is_exact = true;           // it matches one text only
  std::size_t literal_bytes = 0;  // those that stand for themselves
};

GlobShape ShapeOf(std::string_view pattern);

}  // namespace fairlock::engine
