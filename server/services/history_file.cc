#include "server/services/history_file.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <utility>
#include <vector>

#include "server/net/clock.h"
#include "server/services/history_lines.h"

namespace fairlock::server {

namespace {

constexpr std::size_t kBytesAtOnce = 256 * 1024;
constexpr std::size_t kLineBytesMax = 256 * 1024;

std::int64_t UnixMs() { return net::UnixTimeUs() / 1000; }

// Reads the files from the oldest to the newest, beginning `bytes_max` bytes before the end of all.
void ReadBack(const RotationOptions& options, std::uint64_t bytes_max,
              command::ServerParts& parts) {
  std::vector<std::pair<std::ifstream, std::uint64_t>> files;  // and where to begin
  for (const std::string& path : RotatedFile::PathsOf(options)) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file.is_open() || bytes_max == 0) break;
    const auto size = static_cast<std::uint64_t>(file.tellg());
    files.emplace_back(std::move(file), size - std::min(size, bytes_max));
    bytes_max -= std::min(size, bytes_max);
  }
  const engine::TimeMs now = net::BoottimeMs();
  const engine::TimeMs offset_ms = now - UnixMs();
  engine::TimeMs last_at = record::kLongAgo;
  std::string line;
  for (auto each = files.rbegin(); each != files.rend(); ++each) {
    auto& [file, begin] = *each;
    file.seekg(static_cast<std::streamoff>(begin));
    if (begin > 0) std::getline(file, line);  // the rest of a line
    while (std::getline(file, line)) {
      ReadEvent read;
      if (line.size() > kLineBytesMax || !ReadHistoryLine(line, read)) continue;
      // The wall clock may have been set back, but the events of a history are in order.
      last_at = std::clamp(read.unix_ms + offset_ms, last_at, now);
      read.event.at = last_at;
      parts.recorder.history()->Restore(read.event, parts.locks.engine().Prefetch(read.event.key));
    }
  }
}

}  // namespace

std::string CheckHistory(const Config& config) {
  if (config.history_file.empty() || config.history_memory > 0) return "";
  return "history_file: it has what HISTORY knows, so history_memory must not be 0";
}

std::string HistoryFile::Start(const Config& config, command::ServerParts& parts) {
  if (std::string wrong = CheckHistory(config); !wrong.empty()) return wrong;
  if (config.history_file.empty()) return "";
  const RotationOptions options = {
      .path = config.history_file,
      .bytes_max = static_cast<std::uint64_t>(config.history_file_size),
      .age_ms_max = config.history_file_age,
      .files_max = static_cast<std::size_t>(config.history_files)};
  file_ = std::make_unique<RotatedFile>(options);
  if (std::string error = file_->Open(UnixMs()); !error.empty()) return "history_file: " + error;
  record::History& history = *parts.recorder.history();
  ReadBack(options, std::min<std::uint64_t>(history.bytes() * kReadBackPerByte, kReadBackMax),
           parts);
  log_.Info("history_file: {} events were read back from {}", history.event_count(), options.path);
  queue_ = std::make_unique<EventQueue>(kQueueBytes);
  AppendNote("started", 0);
  history.set_tap(queue_.get());
  thread_ = std::thread([this] { Run(); });
  return "";
}

HistoryFile::~HistoryFile() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stop_asked_.notify_one();
  thread_.join();
}

void HistoryFile::Run() {
  // The loop's thread handles signals.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  bool is_stopping = false;
  while (!is_stopping) {
    {
      std::unique_lock lock(mutex_);
      is_stopping = stop_asked_.wait_for(lock, std::chrono::milliseconds(kPauseMs),
                                         [this] { return is_stopping_; });
    }
    while (WriteSome()) {
    }
  }
  AppendNote("stopped", 0);
}

bool HistoryFile::WriteSome() {
  alignas(record::HistoryRecord) std::array<char, EventQueue::kRecordBytesMax> bytes;
  const engine::TimeMs offset_ms = UnixMs() - net::BoottimeMs();
  std::string lines;
  std::uint64_t events = 0;
  while (lines.size() < kBytesAtOnce && queue_->Pop(bytes.data())) {
    const auto& record = *reinterpret_cast<const record::HistoryRecord*>(bytes.data());
    const record::PastEvent event = record::History::Read(record);
    AppendHistoryLine(lines, event, event.at + offset_ms);
    ++events;
  }
  if (events > 0) Append(lines, events);
  const std::uint64_t lost = queue_->dropped() - losses_told_;
  if (lost > 0 && AppendNote("lost", lost)) losses_told_ += lost;
  return events > 0;
}

void HistoryFile::Append(std::string_view lines, std::uint64_t events) {
  const std::string error = file_->Append(lines, UnixMs());
  if (error.empty()) return queue_->CountWritten(events);
  queue_->CountLost(events);
  if (const std::uint64_t count = failures_.CountToLog(net::BoottimeMs()); count > 0) {
    log_.Error("history_file: {} ({} times); events are missing from it", error, count);
  }
}

bool HistoryFile::AppendNote(std::string_view what, std::uint64_t count) {
  std::string line;
  AppendHistoryNote(line, what, count, UnixMs());
  return file_->Append(line, UnixMs()).empty();
}

}  // namespace fairlock::server
