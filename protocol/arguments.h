// The arguments of one request.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlock::protocol {

// A list of views that is reused for request after request, so that parsing allocates nothing once
// it has grown.
//
// The views point into the input given to the parser, or, for inline words with quotes, into this
// object: they are valid until either changes. Neither copied nor moved, for the same reason.
// Holds on to what it grew to: 16 bytes for each of `arguments_max`, and `inline_bytes_max`.
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

  // Room for words that do not stand in the input as they are. Its owner must reserve all it needs
  // before the first view of it is added.
  std::string& scratch() { return scratch_; }

 private:
  std::vector<std::string_view> views_;
  std::string scratch_;
};

}  // namespace fairlock::protocol
