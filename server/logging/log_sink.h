// Writes log lines to a descriptor without ever blocking the server.
#pragma once

#include <spdlog/async.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <cstddef>
#include <string_view>

namespace fairlock::server {

// The descriptor may be a pipe whose reader has stopped. The log thread then waits here for space
// in the pipe, while new lines are queued and the oldest are dropped; the number of dropped lines
// is logged afterwards. After GiveUpSoon, the sink waits only a moment longer.
//
// Called only by the log thread, except GiveUpSoon and descriptor, which any thread may call.
class LogSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  // The destructor closes the descriptor if `is_owner`.
  LogSink(int descriptor, bool is_owner) : descriptor_(descriptor), is_owner_(is_owner) {}
  LogSink(const LogSink&) = delete;
  LogSink& operator=(const LogSink&) = delete;
  ~LogSink() override;

  // Makes the sink report how many lines `pool` drops. `pool` must be the pool whose thread calls
  // this sink, and must outlive that thread.
  void CountDropsOf(spdlog::details::thread_pool& pool) { pool_ = &pool; }
  int descriptor() const { return descriptor_; }
  void GiveUpSoon() { is_ending_.store(true); }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

 private:
  void ReportDrops();
  bool Write(std::string_view bytes);
  bool WaitForRoom();

  const int descriptor_;
  const bool is_owner_;
  spdlog::details::thread_pool* pool_ = nullptr;
  std::size_t drops_reported_ = 0;
  std::size_t drops_here_ = 0;
  int waits_left_ = 2;
  std::atomic<bool> is_ending_ = false;
};

}  // namespace fairlock::server
