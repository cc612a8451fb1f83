// A pool for small blocks of memory that are allocated and freed constantly.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

namespace fairlock::engine {

// Keeps a few freed blocks of each size, so that taking and releasing uncontended locks does not
// call the allocator each time. It serves blocks of up to 256 bytes; larger ones come straight from
// the allocator. Holds at most 64 free blocks of each size, 140 KB in total.
class BlockPool {
 public:
  BlockPool() = default;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool() {
    for (FreeList& list : lists_) {
      while (list.first != nullptr) Allocator::Free(Pop(list), SizeOf(list));
    }
  }

  void* Take(std::size_t bytes) {
    if (bytes > kBytesMax) return Allocator::Take(bytes);
    FreeList& list = lists_[ClassOf(bytes)];
    return list.first != nullptr ? Pop(list) : Allocator::Take(SizeOf(list));
  }

  // REQUIRES: `block` is from Take, with the same `bytes`.
  void Give(void* block, std::size_t bytes) {
    if (bytes > kBytesMax) return Allocator::Free(block, bytes);
    FreeList& list = lists_[ClassOf(bytes)];
    if (list.count == kFreeMax) return Allocator::Free(block, SizeOf(list));
    list.first = new (block) Block{list.first};
    ++list.count;
  }

 private:
  struct Block {
    Block* next;
  };
  struct FreeList {
    Block* first = nullptr;
    std::uint32_t count = 0;
  };
  struct Allocator {
    static void* Take(std::size_t bytes) { return ::operator new(bytes); }
    static void Free(void* block, std::size_t bytes) { ::operator delete(block, bytes); }
  };

  static constexpr std::size_t kStep = 16;
  static constexpr std::size_t kBytesMax = 256;
#ifdef __SANITIZE_ADDRESS__
  // Lets the sanitizer detect accesses to freed blocks.
  static constexpr std::uint32_t kFreeMax = 0;
#else
  static constexpr std::uint32_t kFreeMax = 64;
#endif

  static std::size_t ClassOf(std::size_t bytes) { return (bytes - 1) / kStep; }
  std::size_t SizeOf(const FreeList& list) const {
    return (static_cast<std::size_t>(&list - lists_.data()) + 1) * kStep;
  }
  static void* Pop(FreeList& list) {
    Block* block = list.first;
    list.first = block->next;
    --list.count;
    return block;
  }

  std::array<FreeList, kBytesMax / kStep> lists_{};
};

}  // namespace fairlock::engine
