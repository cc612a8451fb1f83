#include "server/net/resp/byte_queue.h"

#include <cassert>
#include <utility>

namespace fairlock::net {

void ByteQueue::Append(std::string_view bytes) {
  // Moving what is left costs no more than what was taken before it.
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
