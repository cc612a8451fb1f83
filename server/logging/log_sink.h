// Where log lines leave the process, without ever getting stuck there.
#pragma once

#include <spdlog/async.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <cstddef>
#include <string_view>

namespace fairlock::server {

// Writes to a descriptor that may be a pipe whose reader has stopped. The logger's own thread then
// waits here until there is room, while the newest lines queue up behind it and the oldest are
// dropped; how many is logged afterwards. After GiveUpSoon it waits only a moment more.
//
// Called by that one thread, except GiveUpSoon and descriptor: any thread.
class LogSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  // Owns the descriptor if `is_owner`.
  LogSink(int descriptor, bool is_owner) : descriptor_(descriptor), is_owner_(is_owner) {}
  LogSink(const LogSink&) = delete;
  LogSink& operator=(const LogSink&) = delete;
  ~LogSink() override;

  // Whose dropped lines are to be reported: the pool whose thread calls this sink, and which ends
  // only after that thread.
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
