// A server in virtual time without sockets, for unit tests and scenarios.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/reply.h"
#include "server/command/client/client.h"
#include "server/command/environment/environment.h"
#include "server/command/execution/request_pipeline.h"
#include "server/command/server_parts.h"

namespace fairlock::command {

// Everything that commands can read from the environment is a member that tests can set or check.
class FakeEnvironment final : public Clock,
                              public ResourceMeter,
                              public Settings,
                              public CommandLog,
                              public Persistence,
                              public UserDirectory {
 public:
  // Returns the environment in the form that a server takes.
  Environment Given();
  std::int64_t UnixTimeUs() const override { return unix_time_us; }
  std::uint64_t MonotonicNs() const override { return 0; }
  void LogWarning(std::string_view text) override { warnings.emplace_back(text); }
  void LogAudit(std::string_view text) override { audit.emplace_back(text); }
  std::uint64_t Ticks() const override {
    return static_cast<std::uint64_t>(++ticks_looks) * ticks_per_look;
  }
  void LogFromScript(script::LogLevel level, std::string_view text) override;
  ResourceUse Resources() const override { return resources; }
  std::vector<Setting> FindSettings(const engine::Glob& name_glob) const override;
  // Refuses the value "bad" with the error "bad value".
  std::string ChangeSetting(std::string_view name, std::string_view value) override;
  PersistenceReport Report() const override { return {}; }
  std::string StartBackup(const BackupRequest& request, std::uint64_t client_id) override;
  std::string ReloadUsers() override { return reload_error; }
  // Stores the question until a test runs the comparison.
  bool StartPasswordCheck(PasswordQuestion question, std::uint64_t comparison_id) override;
  void LogFailedLogIn(std::string_view address, std::string_view user) override;
  std::uint64_t MemoryInUse(bool asks_anew) override;
  void LogMemoryShort(bool is_short, std::uint64_t used_bytes, std::uint64_t bytes_max) override;
  void LogClosedNewcomer(ClosedNewcomer why, std::string_view address, engine::TimeMs now) override;

  ServerFacts facts{.version = "0.1.0",
                    .run_id = std::string(40, 'a'),
                    .executable = "/usr/bin/fairlockd",
                    .config_file = "",
                    .operating_system = "Linux 6.1.0 x86_64",
                    .process_id = 4711,
                    .tcp_port = 3247};
  std::int64_t unix_time_us = 1'700'000'000'123'456;
  ResourceUse resources{.user_cpu_seconds = 1.5,
                        .system_cpu_seconds = 0.25,
                        .resident_bytes = 4'194'304,
                        .allocated_bytes = 1'090'000};
  std::vector<Setting> settings{{"default_lease", "30s"}, {"maxclients", "10000"}};
  bool is_shutdown_requested = false;
  std::string reload_error = "there is no ACL file";
  std::vector<std::string> warnings;
  std::vector<std::string> audit;
  std::string script_log;  // one line per message: the level as a number, and the text
  std::vector<std::pair<std::uint64_t, PasswordQuestion>> password_checks;
  std::size_t password_checks_max = 1000;
  std::vector<std::string> failed_log_ins;  // "ADDRESS USER"
  std::uint64_t memory_in_use = 0;
  std::uint64_t memory_per_look = 0;  // added at each reading
  std::uint64_t ticks_per_look = 0;   // nanoseconds by which each reading advances the clock
  mutable int ticks_looks = 0;
  int memory_looks = 0;
  int memory_asked = 0;                       // how many times the allocator was asked
  std::vector<std::string> memory_notes;      // "short USED MAX" or "room USED MAX"
  std::vector<std::string> closed_newcomers;  // "slow ADDRESS" or "too many ADDRESS"
};

class TestServer;

// One connection. Its requests are executed at once, at the server's current time.
class TestClient final : private Transport {
 public:
  TestClient(TestServer& server, const std::string& peer);
  ~TestClient();
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  // Sends the words of the line, split like inline commands, and returns the replies as text:
  //   OK   7   nil   "worker-1"   -ERR ...   [1 "a" nil]   {"proto" 3}   1.5   true
  // A push begins with '>'. Several replies are on separate lines; empty if there is none yet.
  std::string Say(std::string_view line);
  std::string Say(std::initializer_list<std::string_view> words);
  // Like Say, but returns the bytes.
  std::string Send(std::string_view line);
  std::string SendBytes(std::string_view bytes);
  // Receives bytes and executes them, but does not look at replies or at the waits of other clients
  // yet.
  void Receive(std::string_view bytes);

  // Returns what has arrived since the last call to Say, Send or Hear.
  std::string Hear();
  std::string HearBytes();

  // A message that would make the unread output longer than this closes the connection.
  void LimitOutput(std::size_t bytes) { output_bytes_max_ = bytes; }

  // The peer disconnects.
  void Close();
  bool is_closed() const { return is_closed_; }
  std::uint64_t id() const { return id_; }
  const Client& client() const { return pipeline_->client(); }

 private:
  friend class TestServer;

  // Requests that follow a waiting one are executed after the step that ended the wait, not within
  // that step.
  void NoticeOutput() override { is_ready_ = true; }
  bool AdmitOutput(std::size_t bytes) override;
  // As with a socket, the connection closes only at the end of the turn.
  void CloseNow() override { is_killed_ = true; }
  void Execute();

  TestServer& server_;
  std::unique_ptr<RequestPipeline> pipeline_;
  std::uint64_t id_ = 0;
  std::string input_;
  std::size_t output_bytes_max_ = std::string().max_size();
  bool is_closed_ = false;
  bool is_ready_ = false;
  bool is_killed_ = false;
};

class TestServer {
 public:
  explicit TestServer(const engine::EngineOptions& options = {},
                      const record::RecorderOptions& recorder_options = {});
  ~TestServer();

  // Clients belong to the server. If no address is given, they come from 127.0.0.1:50001, :50002,
  // ...
  TestClient& Connect();
  TestClient& Connect(const std::string& peer);

  // Advances time; whatever becomes due meanwhile happens when it is due.
  void AdvanceBy(engine::DurationMs duration_ms);

  // Advances only the clock, as between two turns: nothing that becomes overdue is handled yet.
  void SkipTo(engine::TimeMs now);

  engine::TimeMs now() const { return now_; }
  ServerParts& parts() { return parts_; }
  FakeEnvironment& environment() { return environment_; }
  // Replaces the users by those in that ACL file. REQUIRES: the file is valid.
  void SetUsers(std::string_view acl_text);
  // Runs all pending password comparisons.
  void CheckPasswords();

  // Continues the clients whose wait has ended. Clients call this after each request.
  void ExecuteReady();

  // Disconnects all clients, breaks holds without an expiry, and advances time until nothing is
  // pending. Returns an empty string if nothing is left; otherwise, what is left.
  std::string EndEverything();

 private:
  void BreakEndless();

  engine::TimeMs now_ = 1'000'000;
  FakeEnvironment environment_;
  ServerParts parts_;
  std::vector<std::unique_ptr<TestClient>> clients_;
};

// Shows a reply in the notation of TestClient::Say.
std::string ShowReply(const protocol::Reply& reply);

}  // namespace fairlock::command
