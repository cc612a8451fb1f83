// The labels in use; each string is stored once.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fairlock::engine {

// A small reference to a label; fits 14 bits. Zero means no label.
using LabelRef = std::uint32_t;
inline constexpr LabelRef kNoLabel = 0;
inline constexpr LabelRef kLabelRefMax = (1U << 14) - 1;

// Labels are reference-counted and forgotten when unused. When all 2^14 - 1 references are in use,
// further labels become "other". All calls are O(1).
class LabelTable {
 public:
  LabelTable();

  // Adds a use of the label.
  LabelRef Use(std::string_view label);
  void AddUse(LabelRef ref);
  void DropUse(LabelRef ref) {
    if (ref > kOther) DropUseOfOwn(ref);
  }
  std::string_view Text(LabelRef ref) const { return *entries_[ref].text; }
  std::size_t size() const { return refs_.size(); }

 private:
  struct Entry {
    std::unique_ptr<std::string> text;  // its address must not change: `refs_` points to it
    std::uint64_t uses = 0;
  };

  static constexpr LabelRef kOther = 1;

  // REQUIRES: not kNoLabel, and not kOther.
  void DropUseOfOwn(LabelRef ref);

  std::vector<Entry> entries_;
  std::vector<LabelRef> free_;
  boost::unordered_flat_map<std::string_view, LabelRef> refs_;
};

}  // namespace fairlock::engine
