// A queue of bytes, which are appended at the end and removed from the front.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fairlock::net {

// Holds no memory while it is empty. Views are valid until the next change.
class ByteQueue {
 public:
  std::string_view view() const { return std::string_view(bytes_).substr(begin_); }
  bool empty() const { return begin_ == bytes_.size(); }
  std::size_t size() const { return bytes_.size() - begin_; }
  // Allocated memory; 0 while it is empty.
  std::size_t memory_bytes() const { return empty() ? 0 : bytes_.capacity(); }

  void Append(std::string_view bytes);
  // Takes over `bytes` as its content, without the first `dropped` of them. REQUIRES: empty.
  void Adopt(std::string bytes, std::size_t dropped);
  void DropFront(std::size_t bytes);
  void Clear();

 private:
  std::string bytes_;
  std::size_t begin_ = 0;
};

}  // namespace fairlock::net
