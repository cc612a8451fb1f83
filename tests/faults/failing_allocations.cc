// A preloaded library that makes one of a server's allocations fail: the file named by
// FAIL_ALLOCATION holds a 64-bit number that every allocation in any thread decrements; the one
// that finds 1 fails. 0 disables the countdown.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

using Countdown = std::atomic<std::int64_t>;
static_assert(sizeof(Countdown) == sizeof(std::int64_t) && Countdown::is_always_lock_free);

Countdown* countdown = nullptr;

__attribute__((constructor)) void MapCountdown() {
  const char* const path = getenv("FAIL_ALLOCATION");
  const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* const mapped =
      mmap(nullptr, sizeof(Countdown), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) countdown = static_cast<Countdown*>(mapped);
}

bool IsToFail() {
  if (countdown == nullptr || countdown->load(std::memory_order_relaxed) <= 0) return false;
  return countdown->fetch_sub(1) == 1;
}

// Serves the allocations that dlsym itself makes before malloc has been looked up.
alignas(16) char first_bytes[4096];
std::size_t first_bytes_used = 0;

bool IsFirst(const void* memory) {
  return memory >= first_bytes && memory < first_bytes + sizeof(first_bytes);
}

void* TakeFirst(std::size_t bytes) {
  const std::size_t begin = first_bytes_used;
  first_bytes_used += (bytes + 15) / 16 * 16;
  if (first_bytes_used > sizeof(first_bytes)) abort();
  return first_bytes + begin;
}

void* (*next_malloc)(std::size_t) = nullptr;
void* (*next_calloc)(std::size_t, std::size_t) = nullptr;
void* (*next_realloc)(void*, std::size_t) = nullptr;
void (*next_free)(void*) = nullptr;
void* (*next_aligned_alloc)(std::size_t, std::size_t) = nullptr;
int (*next_posix_memalign)(void**, std::size_t, std::size_t) = nullptr;
thread_local bool is_looking_up = false;

template <typename Function>
Function LookUp(Function& found, const char* name) {
  if (found != nullptr) return found;
  is_looking_up = true;
  found = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
  is_looking_up = false;
  return found;
}

// Behaves as operator new must: calls the new-handler until the allocation succeeds, or throws.
template <typename Take>
void* TakeOrHandle(Take take) {
  for (;;) {
    if (!IsToFail()) {
      if (void* const memory = take()) return memory;
    }
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void* New(std::size_t bytes) {
  return TakeOrHandle([bytes] { return LookUp(next_malloc, "malloc")(bytes); });
}

void* New(std::size_t bytes, std::align_val_t alignment) {
  return TakeOrHandle([bytes, alignment] {
    void* memory = nullptr;
    const auto align = static_cast<std::size_t>(alignment);
    const int result = LookUp(next_posix_memalign, "posix_memalign")(&memory, align, bytes);
    return result == 0 ? memory : nullptr;
  });
}

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) {
  if (is_looking_up) return TakeFirst(bytes);
  if (IsToFail()) {
    errno = ENOMEM;
    return nullptr;
  }
  return LookUp(next_malloc, "malloc")(bytes);
}

void* calloc(std::size_t count, std::size_t bytes) {
  if (is_looking_up) return TakeFirst(count * bytes);
  if (IsToFail()) {
    errno = ENOMEM;
    return nullptr;
  }
  return LookUp(next_calloc, "calloc")(count, bytes);
}

void* realloc(void* memory, std::size_t bytes) {
  if (IsFirst(memory)) {
    void* const moved = malloc(bytes);
    if (moved != nullptr) std::memcpy(moved, memory, bytes);
    return moved;
  }
  if (IsToFail()) {
    errno = ENOMEM;
    return nullptr;
  }
  return LookUp(next_realloc, "realloc")(memory, bytes);
}

void free(void* memory) {
  if (memory != nullptr && !IsFirst(memory)) LookUp(next_free, "free")(memory);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (IsToFail()) {
    errno = ENOMEM;
    return nullptr;
  }
  return LookUp(next_aligned_alloc, "aligned_alloc")(alignment, bytes);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  if (IsToFail()) return ENOMEM;
  return LookUp(next_posix_memalign, "posix_memalign")(memory, alignment, bytes);
}

}  // extern "C"

void* operator new(std::size_t bytes) { return New(bytes); }
void* operator new[](std::size_t bytes) { return New(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return New(bytes, alignment); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return New(bytes, alignment);
}
void operator delete(void* memory) noexcept { free(memory); }
void operator delete[](void* memory) noexcept { free(memory); }
void operator delete(void* memory, std::size_t) noexcept { free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { free(memory); }
