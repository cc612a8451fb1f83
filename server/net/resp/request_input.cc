#include "server/net/resp/request_input.h"

#include <cassert>
#include <utility>

namespace fairlock::net {

void ByteQueue::Append(std::string_view bytes) {
  // Moves at most as many bytes as were removed since the last move, so the cost per byte is
  // constant.
  if (begin_ > 0 && begin_ >= size()) {
    bytes_.erase(0, begin_);
    begin_ = 0;
  }
  bytes_.append(bytes);
}

void ByteQueue::Adopt(std::string bytes, std::size_t dropped) {
  assert(empty() && dropped <= bytes.size());
  bytes_ = std::move(bytes);
  begin_ = dropped;
  if (empty()) Clear();
}

void ByteQueue::DropFront(std::size_t bytes) {
  assert(bytes <= size());
  begin_ += bytes;
  if (empty()) Clear();
}

void ByteQueue::Clear() {
  std::string().swap(bytes_);
  begin_ = 0;
}

}  // namespace fairlock::net
