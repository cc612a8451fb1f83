// Names that are searched for together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace fairlock::values {

// Each name once, in ascending order. With it, a command that names many elements takes a time
// that is nearly proportional to its names and to the elements of the value, and not to their
// product. The views must outlive it.
class Names {
 public:
  explicit Names(std::span<const std::string_view> names) : sorted_(names.begin(), names.end()) {
    std::ranges::sort(sorted_);
    sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
  }

  std::size_t size() const { return sorted_.size(); }
  std::string_view at(std::size_t index) const { return sorted_[index]; }
  // The position of the name among them; size() if it is none of them.
  std::size_t IndexOf(std::string_view name) const {
    const auto found = std::ranges::lower_bound(sorted_, name);
    if (found == sorted_.end() || *found != name) return size();
    return static_cast<std::size_t>(found - sorted_.begin());
  }
  bool Has(std::string_view name) const { return IndexOf(name) < size(); }

 private:
  std::vector<std::string_view> sorted_;
};

// For so few names, one search after the other is faster.
inline constexpr std::size_t kFewNames = 4;

}  // namespace fairlock::values
