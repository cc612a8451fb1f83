#include "cli/arguments/nearest_word.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace fairlock::cli {

namespace {

constexpr auto kOtherNames = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"acquire", "lock"},
    {"release", "unlock"},
    {"extend", "renew"},
    {"refresh", "renew"},
    {"ls", "locks"},
    {"list", "locks"},
    {"info", "status"},
    {"monitor", "watch"},
    {"events", "watch"},
    {"force", "break"},
    {"exec", "run"},
    {"get", "show"},
    {"sessions", "clients"},
});

// Damerau-Levenshtein distance (optimal string alignment).
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> rows(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) rows[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[i][j] = std::min({changed, rows[i - 1][j] + 1, rows[i][j - 1] + 1});
      const bool is_exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_exchanged) rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

// Returns the number of letters that only one of the two words has.
std::size_t DifferingLetters(std::string a, std::string b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  std::string others;
  std::ranges::set_symmetric_difference(a, b, std::back_inserter(others));
  return others.size();
}

}  // namespace

std::string Nearest(std::string_view word, const std::vector<std::string>& names) {
  const auto measure = [word](const std::string& name) {
    return std::pair(Distance(word, name), DifferingLetters(std::string(word), name));
  };
  const auto nearest = std::ranges::min_element(names, {}, measure);
  // With two mistakes, a short word can no longer be recognised.
  const std::size_t mistakes_max = word.size() < 4 ? 1 : 2;
  if (nearest == names.end() || measure(*nearest).first > mistakes_max) return "";
  return *nearest;
}

std::string SuggestCommand(std::string_view word, const std::vector<std::string>& names) {
  const auto* const other =
      std::ranges::find(kOtherNames, word, &std::pair<std::string_view, std::string_view>::first);
  return other == kOtherNames.end() ? Nearest(word, names) : std::string(other->second);
}

std::string Suggestion(const std::string& nearest) {
  return nearest.empty() ? "" : "did you mean `" + nearest + "`? ";
}

}  // namespace fairlock::cli
