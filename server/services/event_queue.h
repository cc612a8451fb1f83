// Passes recorded events from the loop to the thread that writes them to a file.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "server/record/history.h"

namespace fairlock::server {

// A ring of bytes of a fixed size. An event that does not fit is dropped and counted, so that the
// loop never waits. The loop pushes, one other thread pops; any thread may read the counts.
class EventQueue final : public record::EventTap {
 public:
  // The most bytes that a record takes here.
  static constexpr std::size_t kRecordBytesMax = 20 * 1024;

  // REQUIRES: a power of 2, at least 2 * kRecordBytesMax.
  explicit EventQueue(std::size_t bytes)
      : bytes_(bytes), buffer_(std::make_unique_for_overwrite<char[]>(bytes)) {}
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  void Take(const record::HistoryRecord& record) override {
    const std::uint64_t size = sizeof(record) + record.shown_bytes();
    const std::uint64_t end = end_.load(std::memory_order_relaxed);
    if (end + sizeof(size) + size - begin_.load(std::memory_order_acquire) > bytes_) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    CopyIn(end, &size, sizeof(size));
    CopyIn(end + sizeof(size), &record, size);
    end_.store(end + sizeof(size) + size, std::memory_order_release);
  }
  // Copies the oldest record to `to`, which has room for kRecordBytesMax bytes. Returns false if
  // there is none.
  bool Pop(char* to) {
    const std::uint64_t begin = begin_.load(std::memory_order_relaxed);
    if (begin == end_.load(std::memory_order_acquire)) return false;
    std::uint64_t size = 0;
    CopyOut(begin, &size, sizeof(size));
    CopyOut(begin + sizeof(size), to, size);
    begin_.store(begin + sizeof(size) + size, std::memory_order_release);
    return true;
  }

  void CountWritten(std::uint64_t events) { written_.fetch_add(events, std::memory_order_relaxed); }
  // Counts events that were popped, but could not be written.
  void CountLost(std::uint64_t events) { dropped_.fetch_add(events, std::memory_order_relaxed); }
  std::uint64_t written() const override { return written_.load(std::memory_order_relaxed); }
  std::uint64_t dropped() const override { return dropped_.load(std::memory_order_relaxed); }

 private:
  void CopyIn(std::uint64_t at, const void* from, std::size_t size) {
    const std::size_t offset = at & (bytes_ - 1);
    const std::size_t first = std::min(size, bytes_ - offset);
    std::memcpy(buffer_.get() + offset, from, first);
    std::memcpy(buffer_.get(), static_cast<const char*>(from) + first, size - first);
  }
  void CopyOut(std::uint64_t at, void* to, std::size_t size) const {
    const std::size_t offset = at & (bytes_ - 1);
    const std::size_t first = std::min(size, bytes_ - offset);
    std::memcpy(to, buffer_.get() + offset, first);
    std::memcpy(static_cast<char*>(to) + first, buffer_.get(), size - first);
  }

  const std::size_t bytes_;
  const std::unique_ptr<char[]> buffer_;
  // How many bytes have ever been popped, and pushed.
  alignas(64) std::atomic<std::uint64_t> begin_ = 0;
  alignas(64) std::atomic<std::uint64_t> end_ = 0;
  std::atomic<std::uint64_t> dropped_ = 0;
  std::atomic<std::uint64_t> written_ = 0;
};

}  // namespace fairlock::server
