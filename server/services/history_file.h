// Writes the history to a file as it happens, and reads the end of it back at startup.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "server/command/server_parts.h"
#include "server/config/config.h"
#include "server/logging/log_throttle.h"
#include "server/logging/logging.h"
#include "server/services/event_queue.h"
#include "server/services/rotated_file.h"

namespace fairlock::server {

// Returns what is wrong with the options of the history, or an empty string.
std::string CheckHistory(const Config& config);

// The loop copies each event into a queue of kQueueBytes, without waiting and without a system
// call; a thread of this object writes them within about kPauseMs. What does not fit into the
// queue, or cannot be written, is dropped and counted, and a line in the file says how many events
// are lost. Nothing is synced: a crash of the process loses at most what is in the queue, one of
// the machine what its page cache had not written.
//
// Start and the destructor are for the loop's thread. Must outlive the history.
class HistoryFile {
 public:
  static constexpr std::size_t kQueueBytes = 8 * 1024 * 1024;
  static constexpr int kPauseMs = 50;
  // The end of the files that is read back has at most this number of bytes for each byte of
  // history_memory, and no more than kReadBackMax, which takes about half a second.
  static constexpr std::uint64_t kReadBackPerByte = 3;
  static constexpr std::uint64_t kReadBackMax = 64 * 1024 * 1024;

  explicit HistoryFile(Log& log) : log_(log) {}
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;
  // Writes what is in the queue.
  ~HistoryFile();

  // Does nothing if the options name no file. Returns the error, or an empty string. REQUIRES:
  // nothing has happened yet.
  [[nodiscard]] std::string Start(const Config& config, command::ServerParts& parts);

 private:
  void Run();
  // Writes at most a few hundred kilobytes. Returns false if the queue was empty.
  bool WriteSome();
  void Append(std::string_view lines, std::uint64_t events);
  // Returns whether it was written.
  bool AppendNote(std::string_view what, std::uint64_t count);

  Log& log_;
  LogThrottle failures_;
  std::unique_ptr<EventQueue> queue_;
  std::unique_ptr<RotatedFile> file_;
  std::uint64_t losses_told_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable stop_asked_;
  bool is_stopping_ = false;  // guarded by mutex_
};

}  // namespace fairlock::server
