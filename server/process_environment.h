// What commands see of the process: its facts, clock, resources and settings.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/command/environment.h"
#include "server/config.h"
#include "server/memory_meter.h"

namespace fairlock::server {

struct EnvironmentHooks {
  // The configuration was changed; empty: it is in use now, else why it cannot be.
  std::function<std::string(const Config&)> apply;
  std::function<void()> request_shutdown;
  std::function<command::PersistenceReport()> persistence = [] {
    return command::PersistenceReport{};
  };
  std::function<std::string(const command::BackupRequest&, std::uint64_t client_id)> start_backup =
      {};
  std::function<void(std::string_view)> log_warning = [](std::string_view) {};
  std::function<void(script::LogLevel, std::string_view)> log_from_script = {};
  std::function<bool(command::PasswordQuestion, std::uint64_t comparison_id)> start_password_check =
      {};
  std::function<std::string()> reload_users = {};
  std::function<void(std::string_view address, std::string_view user)> note_failed_log_in = {};
  std::function<void(bool is_short, std::uint64_t used_bytes, std::uint64_t bytes_max)>
      note_memory_short = {};
  std::function<void(command::ClosedNewcomer, std::string_view address, engine::TimeMs now)>
      note_closed_newcomer = {};
};

// Loop-confined.
class ProcessEnvironment final : public command::Environment {
 public:
  ProcessEnvironment(command::ServerFacts facts, Config config, EnvironmentHooks hooks);

  const command::ServerFacts& Facts() const override { return facts_; }
  std::int64_t UnixTimeUs() const override;
  std::uint64_t MonotonicNs() const override;
  std::uint64_t Ticks() const override;
  double NsPerTick() const override;
  command::ResourceUse Resources() const override;
  std::vector<command::Setting> FindSettings(const engine::Glob& name_glob) const override;
  std::string ChangeSetting(std::string_view name, std::string_view value) override;
  command::PersistenceReport Persistence() const override { return hooks_.persistence(); }
  std::string StartBackup(const command::BackupRequest& request, std::uint64_t client_id) override {
    return hooks_.start_backup(request, client_id);
  }
  void LogWarning(std::string_view text) override { hooks_.log_warning(text); }
  void LogFromScript(script::LogLevel level, std::string_view text) override {
    hooks_.log_from_script(level, text);
  }
  bool StartPasswordCheck(command::PasswordQuestion question,
                          std::uint64_t comparison_id) override {
    return hooks_.start_password_check(std::move(question), comparison_id);
  }
  std::string ReloadUsers() override { return hooks_.reload_users(); }
  void NoteFailedLogIn(std::string_view address, std::string_view user) override {
    hooks_.note_failed_log_in(address, user);
  }
  std::uint64_t MemoryInUse(bool asks_anew) override;
  void NoteMemoryShort(bool is_short, std::uint64_t used_bytes, std::uint64_t bytes_max) override {
    hooks_.note_memory_short(is_short, used_bytes, bytes_max);
  }
  void NoteClosedNewcomer(command::ClosedNewcomer why, std::string_view address,
                          engine::TimeMs now) override {
    hooks_.note_closed_newcomer(why, address, now);
  }
  void RequestShutdown() override { hooks_.request_shutdown(); }

  const Config& config() const { return config_; }

  struct Reloaded {
    std::string error;                 // nothing was changed
    std::vector<std::string> ignored;  // options that differ, but are read only at the start
  };
  // Takes over those options that may change while the server runs.
  Reloaded Reload(const Config& fresh);

 private:
  command::ServerFacts facts_;
  Config config_;
  EnvironmentHooks hooks_;
  MemoryMeter memory_;
  std::uint64_t started_ns_;  // the same moment by both clocks
  std::uint64_t started_ticks_;
};

}  // namespace fairlock::server
