// A small list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "server/values/hash.h"

namespace fairlock::values {

enum class ListEnd : std::uint8_t { kLeft, kRight };

// A value type.
class List {
 public:
  void Push(ListEnd end, std::string_view element);
  // REQUIRES: the list is not empty.
  std::string Pop(ListEnd end);
  void Erase(std::size_t index);

  const std::string& at(std::size_t index) const { return elements_[index]; }
  const std::deque<std::string>& elements() const { return elements_; }
  std::size_t size() const { return elements_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::deque<std::string> elements_;
  std::size_t bytes_ = 0;
};

}  // namespace fairlock::values
