#include "server/command/table/nearest_word.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

// Longer words are not compared: no name is that long, and the time grows with the product of both
// lengths.
constexpr std::size_t kComparedBytesMax = 64;

std::size_t DistanceBound(std::size_t letters) {
  if (letters <= 4) return 1;
  return letters <= 8 ? 2 : 3;
}

}  // namespace

std::size_t EditDistance(std::string_view a, std::string_view b) {
  // Computes the optimal string alignment distance, which needs only three rows of the matrix.
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  const auto same = [&](std::size_t i, std::size_t j) { return ToUpper(a[i]) == ToUpper(b[j]); };
  for (std::size_t i = 0; i < a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({last[j] + (same(i, j) ? 0U : 1U), last[j + 1] + 1, row[j] + 1});
      const bool is_swap = i > 0 && j > 0 && same(i, j - 1) && same(i - 1, j);
      if (is_swap) row[j + 1] = std::min(row[j + 1], before_last[j - 1] + 1);
    }
  }
  return row.back();
}

NearestWord::NearestWord(std::string_view misspelled)
    : misspelled_(misspelled), distance_(DistanceBound(misspelled.size()) + 1) {}

void NearestWord::Try(std::string_view candidate) {
  if (misspelled_.size() > kComparedBytesMax || candidate.size() > kComparedBytesMax) return;
  // A candidate that differs in most letters is a different word, so very short words are not
  // compared.
  if (misspelled_.size() < 3 || candidate.empty()) return;
  const std::size_t distance = EditDistance(misspelled_, candidate);
  const bool has_same_begin = ToUpper(misspelled_.front()) == ToUpper(candidate.front());
  if (distance >= distance_ || (distance > 1 && !has_same_begin)) return;
  distance_ = distance;
  found_ = candidate;
}

}  // namespace fairlock::command
