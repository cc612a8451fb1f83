// The arguments of one request.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlock::protocol {

// A list of views that is reused for every request, so parsing does not allocate once it has grown.
//
// The views point into the parser's input or, for quoted inline words, into this object, and are
// valid until either changes. For this reason it can be neither copied nor moved. It retains the
// memory that it has grown to: at most 16 bytes per argument (`arguments_max`) plus
// `inline_bytes_max`.
class Arguments {
 public:
  using value_type = std::string_view;
  using const_iterator = const std::string_view*;

  Arguments() = default;
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  std::size_t size() const { return views_.size(); }
  bool empty() const { return views_.empty(); }
  std::string_view operator[](std::size_t index) const { return views_[index]; }
  std::string_view front() const { return views_.front(); }
  const_iterator begin() const { return views_.data(); }
  const_iterator end() const { return views_.data() + views_.size(); }
  std::span<const std::string_view> views() const { return views_; }

  void Clear() { views_.clear(); }
  void Add(std::string_view argument) { views_.push_back(argument); }

  // Memory for words whose value differs from their form in the input. The owner must reserve all
  // the memory that it needs before it adds the first view, because growing invalidates views.
  std::string& scratch() { return scratch_; }

 private:
  std::vector<std::string_view> views_;
  std::string scratch_;
};

}  // namespace fairlock::protocol
