#include "tests/simulation/shortener.h"

#include <algorithm>
#include <charconv>

namespace fairlock::simulation {
namespace {

constexpr std::size_t kIndexMax = 100'000'000;

std::vector<std::size_t> Without(const std::vector<std::size_t>& indices, std::size_t begin,
                                 std::size_t end) {
  std::vector<std::size_t> rest;
  rest.reserve(indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (i < begin || i >= end) rest.push_back(indices[i]);
  }
  return rest;
}

// Reads a number from the front of `text`; returns false if there is none.
bool TakeNumber(std::string_view& text, std::size_t& number) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || number > kIndexMax) return false;
  text.remove_prefix(static_cast<std::size_t>(result.ptr - text.data()));
  return true;
}

}  // namespace

std::vector<std::size_t> Shorten(
    std::vector<std::size_t> indices, std::size_t attempts_max,
    const std::function<bool(const std::vector<std::size_t>&)>& fails) {
  std::size_t attempts = 0;
  std::size_t part = std::max<std::size_t>(indices.size() / 2, 1);
  while (attempts < attempts_max) {
    bool was_shortened = false;
    // Starts at the end, because later steps usually depend on earlier ones.
    for (std::size_t end = indices.size(); end > 0 && attempts < attempts_max;) {
      const std::size_t begin = end > part ? end - part : 0;
      std::vector<std::size_t> candidate = Without(indices, begin, end);
      ++attempts;
      if (fails(candidate)) {
        indices = std::move(candidate);
        was_shortened = true;
      }
      end = begin;
    }
    if (part == 1 && !was_shortened) break;
    part = std::max<std::size_t>(part / 2, 1);
  }
  return indices;
}

std::string FormatIndices(const std::vector<std::size_t>& indices) {
  std::string text;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t last = i;
    while (last + 1 < indices.size() && indices[last + 1] == indices[last] + 1) ++last;
    if (!text.empty()) text += ",";
    text += std::to_string(indices[i]);
    if (last > i) text += "-" + std::to_string(indices[last]);
    i = last + 1;
  }
  return text;
}

std::vector<std::size_t> ParseIndices(const std::string& text) {
  std::vector<std::size_t> indices;
  std::string_view rest = text;
  while (true) {
    std::size_t first = 0;
    if (!TakeNumber(rest, first)) return {};
    std::size_t last = first;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      if (!TakeNumber(rest, last) || last < first) return {};
    }
    for (std::size_t index = first; index <= last; ++index) indices.push_back(index);
    if (rest.empty()) return indices;
    if (!rest.starts_with(',')) return {};
    rest.remove_prefix(1);
  }
}

}  // namespace fairlock::simulation
