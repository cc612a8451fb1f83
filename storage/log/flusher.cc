#include "storage/log/flusher.h"

#include <utility>

namespace fairlock::storage {

Flusher::Flusher(Store& store, std::chrono::milliseconds interval, Reports reports)
    : store_(store),
      interval_(interval),
      reports_(std::move(reports)),
      thread_([this] { Run(); }) {}

void Flusher::NotifyWritten(std::uint64_t batch) {
  bool was_idle = false;
  {
    const std::lock_guard lock(mutex_);
    was_idle = written_ == synced_;
    written_ = batch;
  }
  if (was_idle) changed_.notify_one();
}

void Flusher::Stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Flusher::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_stopping_ || written_ != synced_; });
    if (is_stopping_) return;
    const std::uint64_t batch = written_;
    lock.unlock();
    reports_.begins();
    is_syncing_.store(true, std::memory_order_relaxed);
    const Status status = store_.Sync();
    is_syncing_.store(false, std::memory_order_relaxed);
    if (!status.ok()) return reports_.failed(status);
    reports_.synced(batch);
    lock.lock();
    synced_ = batch;
    if (changed_.wait_for(lock, interval_, [this] { return is_stopping_; })) return;
  }
}

}  // namespace fairlock::storage
