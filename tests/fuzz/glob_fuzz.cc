// The first byte of an input is the length of the glob that follows it; the rest is the text.
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/engine/api/glob.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it by this name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string_view pattern = rest.substr(0, std::min<std::size_t>(data[0], rest.size()));
  const std::string_view text = rest.substr(pattern.size());
  const fairlock::engine::Glob glob(pattern);
  std::uint64_t compared = 0;
  const bool is_match = glob.Matches(text, compared);
  assert(compared <= glob.CostMax(text.size()));
  assert(compared <= (pattern.size() + 1) * (text.size() + 1));
  assert(!is_match || text.starts_with(glob.head()));
  assert(!is_match || !glob.is_exact() || text.size() == glob.literal_bytes());
  // A glob that matches a text also matches every longer text once a star is appended. A glob with
  // an unclosed set or a final backslash is exempt, because it would absorb the star.
  const bool may_append = pattern.find_first_of("[\\") == std::string_view::npos;
  const std::string longer = std::string(pattern) + "*";
  assert(!is_match || !may_append ||
         fairlock::engine::MatchesGlob(longer, std::string(text) + "x"));
  return 0;
}
