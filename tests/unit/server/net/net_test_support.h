// A turn loop on a thread of its own, with a listening unix socket, and clients that talk to it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "server/command/environment/environment.h"
#include "server/command/server_parts.h"
#include "server/net/loop/turn_loop.h"
#include "server/net/net_events.h"

namespace fairlock::net {

// An empty temporary folder, which is removed together with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  std::string PathOf(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

class NullEnvironment final : public command::Clock,
                              public command::ResourceMeter,
                              public command::Settings,
                              public command::CommandLog {
 public:
  // Returns the environment in the form that a server takes.
  command::Environment Given() {
    return {.facts = facts_, .clock = *this, .resources = *this, .settings = *this, .log = *this};
  }

  std::int64_t UnixTimeUs() const override { return 0; }
  std::uint64_t MonotonicNs() const override { return 0; }
  command::ResourceUse Resources() const override { return {}; }
  std::vector<command::Setting> FindSettings(const engine::Glob&) const override { return {}; }
  std::string ChangeSetting(std::string_view, std::string_view) override { return "none"; }
  std::uint64_t MemoryInUse(bool /*asks_anew*/) override { return 0; }
  void LogWarning(std::string_view /*text*/) override {}
  void LogFromScript(script::LogLevel /*level*/, std::string_view /*text*/) override {}
  void LogAudit(std::string_view) override {}
  void LogFailedLogIn(std::string_view, std::string_view) override {}
  void LogMemoryShort(bool, std::uint64_t, std::uint64_t) override {}
  void LogClosedNewcomer(command::ClosedNewcomer, std::string_view, engine::TimeMs) override {}

 private:
  command::ServerFacts facts_;
};

// Thread-safe.
class RecordedEvents final : public NetEvents {
 public:
  void LogOpened(const command::ClientProfile&) override;
  void LogClosed(const command::ClientProfile&, CloseReason reason, engine::TimeMs) override;
  void LogRefused(std::string_view, const Refusal&, engine::TimeMs) override {}
  void LogAcceptFailed(int, engine::TimeMs) override {}
  void LogHandshakeFailed(std::string_view, std::string_view, engine::TimeMs) override {}
  void LogUnexpectedTls(std::string_view, engine::TimeMs) override {}

  std::size_t opened() const;
  std::vector<CloseReason> close_reasons() const;

 private:
  mutable std::mutex mutex_;
  std::size_t opened_ = 0;
  std::vector<CloseReason> close_reasons_;
};

// A blocking socket whose calls give up after a few seconds.
class TestPeer {
 public:
  explicit TestPeer(const std::string& unix_path);
  TestPeer(const TestPeer&) = delete;
  TestPeer& operator=(const TestPeer&) = delete;
  ~TestPeer();

  void Send(std::string_view bytes);
  // Returns false if the other side receives nothing more.
  bool TrySend(std::string_view bytes);
  // Returns exactly `bytes` bytes, or fewer at the end of the connection.
  std::string Receive(std::size_t bytes);
  // The number of sent bytes that the other side has not received.
  int unreceived_bytes() const;
  void Close();

 private:
  int descriptor_;
};

class LoopOnThread {
 public:
  explicit LoopOnThread(const LoopOptions& options = {});
  LoopOnThread(const LoopOnThread&) = delete;
  LoopOnThread& operator=(const LoopOnThread&) = delete;
  ~LoopOnThread();

  const std::string& unix_path() const { return unix_path_; }
  const RecordedEvents& events() const { return events_; }
  // Runs `what` on the loop's thread and waits for it.
  void Do(const std::function<void(TurnLoop&, command::ServerParts&)>& what);
  // Stops the loop and returns when it has ended.
  void Stop();
  const command::ServerCounters& counters_after_stop() { return parts_->statistics.counters; }

 private:
  void Begin(const LoopOptions& options);

  TemporaryFolder folder_;
  std::string unix_path_;
  NullEnvironment environment_;
  std::optional<command::ServerParts> parts_;
  RecordedEvents events_;
  std::unique_ptr<TurnLoop> loop_;
  std::thread thread_;
};

// Returns `text` repeated `count` times.
std::string Repeated(std::string_view text, std::size_t count);
// Returns inline requests that take and release one lock `pairs` times.
std::string LocksAndUnlocks(int number, std::size_t pairs);
// Receives an integer reply.
std::int64_t ReceiveNumber(TestPeer& peer);
// Returns the number of commands executed since the start.
std::uint64_t CountExecuted(LoopOnThread& loop);

// Returns true as soon as the condition holds, and false if it still does not hold after many
// seconds.
bool WaitUntil(const std::function<bool()>& condition);

}  // namespace fairlock::net
