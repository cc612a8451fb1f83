// A growable byte buffer whose memory is reused.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace fairlock::storage {

// Grows by doubling and never shrinks, so a reused buffer does not allocate.
class ByteBuffer {
 public:
  ByteBuffer() = default;
  ByteBuffer(ByteBuffer&& other) noexcept { *this = std::move(other); }
  ByteBuffer& operator=(ByteBuffer&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  char* data() { return bytes_.get(); }
  std::string_view view() const { return {bytes_.get(), size_}; }

  void Clear() { size_ = 0; }

  // Returns where the next `count` bytes may be written; valid until the next call. The caller then
  // reports the end of what it wrote with SetEnd.
  char* Reserve(std::size_t count) {
    if (capacity_ - size_ < count) Grow(size_ + count);
    return bytes_.get() + size_;
  }
  void SetEnd(const char* end) { size_ = static_cast<std::size_t>(end - bytes_.get()); }

 private:
  void Grow(std::size_t needed) {
    const std::size_t capacity = std::max<std::size_t>({needed, capacity_ * 2, 256});
    auto bytes = std::make_unique_for_overwrite<char[]>(capacity);
    if (size_ > 0) std::memcpy(bytes.get(), bytes_.get(), size_);
    bytes_ = std::move(bytes);
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace fairlock::storage
