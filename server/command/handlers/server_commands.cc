// Commands about the whole server: its time, state, settings, backups and shutdown.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/command/handlers/command_families.h"
#include "server/command/handlers/info_report.h"
#include "server/command/handlers/redis_arguments.h"
#include "server/command/handlers/replication.h"
#include "server/command/handlers/shared_replies.h"
#include "server/command/server_parts.h"
#include "server/command/table/argument_reader.h"
#include "server/command/table/command_docs.h"
#include "server/command/table/glob_walk.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;

void Time(Invocation& call) {
  const std::int64_t now_us = call.server.environment.clock.UnixTimeUs();
  call.reply.ArrayHeader(2);
  call.reply.Bulk(std::to_string(now_us / 1'000'000));
  call.reply.Bulk(std::to_string(now_us % 1'000'000));
}

void DbSize(Invocation& call) {
  const std::uint8_t db = call.client.profile.database;
  const std::uint64_t keys =
      call.server.locks.engine().CountLocks(db) + call.server.values.store().Count(db);
  call.reply.Integer(static_cast<std::int64_t>(keys));
}

void Role(Invocation& call) { ReplyRole(call.server.environment.fleet, call.reply); }

void Info(Invocation& call) {
  const auto sections = call.arguments.views().subspan(1);
  const bool may_read_all =
      !call.client.rights.is_limited() || call.client.rights.user()->read_keys.is_all();
  call.reply.Verbatim("txt", InfoReport(sections, call.server, may_read_all, call.now));
}

// Redis settings that clients ask for. Their values are the same on every fairlock server.
const std::array<Setting, 4> kFixedSettings = {{
    {"appendonly", "no"},
    {"databases", std::to_string(engine::kDatabases)},
    {"save", ""},
    {"timeout", "0"},
}};

// As in Redis, this setting cannot be set, not even to its current value.
constexpr std::string_view kImmutableSetting = "databases";

// More than any real client sends. The number is limited because each pattern is matched against
// the names of all settings.
constexpr std::size_t kSettingPatternsMax = 50;
// The cost of matching one pattern against all names, in bytes compared.
constexpr std::uint64_t kSettingPatternCost = 20'000;

void AddMatchingSettings(const Settings& settings, const engine::Glob& glob,
                         std::vector<Setting>& found) {
  const auto add = [&](Setting setting) {
    const bool is_there = std::any_of(found.begin(), found.end(), [&](const Setting& other) {
      return other.name == setting.name;
    });
    if (!is_there) found.push_back(std::move(setting));
  };
  for (Setting& setting : settings.FindSettings(glob)) add(std::move(setting));
  for (const Setting& setting : kFixedSettings) {
    if (glob.Matches(setting.name)) add(setting);
  }
}

void ConfigGet(Invocation& call) {
  const auto patterns = call.arguments.views().subspan(2);
  if (patterns.size() > kSettingPatternsMax) {
    return call.reply.Error(ErrorCode::kErr,
                            "CONFIG GET takes 1 to " + std::to_string(kSettingPatternsMax) +
                                " patterns, got " + std::to_string(patterns.size()));
  }
  if (RefusesToMatch(call)) return;
  GlobWalk walk(call.server.work, GlobWalk::kWholeWorkMax);
  std::vector<Setting> found;
  for (const std::string_view pattern : patterns) {
    const auto glob = ReadGlob(call, "CONFIG GET", Lowered(pattern));
    if (!glob) return;
    walk.Charge(kSettingPatternCost);
    AddMatchingSettings(call.server.environment.settings, *glob, found);
  }
  call.reply.MapHeader(found.size());
  for (const Setting& setting : found) {
    call.reply.Bulk(setting.name);
    call.reply.Bulk(setting.value);
  }
}

const Setting* FindFixedSetting(std::string_view name) {
  const auto* const found = std::ranges::find(kFixedSettings, name, &Setting::name);
  return found == kFixedSettings.end() ? nullptr : found;
}

std::optional<Setting> FindSetting(const Settings& settings, const std::string& name) {
  if (name.size() > engine::kGlobBytesMax) return std::nullopt;
  if (const Setting* fixed = FindFixedSetting(name)) return *fixed;
  for (Setting& setting : settings.FindSettings(engine::Glob(name))) {
    if (setting.name == name) return std::move(setting);
  }
  return std::nullopt;
}

void RefuseSetting(Invocation& call, const std::string& name, const std::string& why) {
  call.reply.Error(ErrorCode::kErr, "CONFIG SET failed (possibly related to argument " +
                                        Quoted(name, 128) + ") - " + why);
}

// Returns an empty string on success, otherwise the error. Setting a fixed setting to its own value
// succeeds.
std::string Change(Settings& settings, const std::string& name, std::string_view value) {
  const Setting* const fixed = FindFixedSetting(name);
  if (fixed == nullptr) return settings.ChangeSetting(name, value);
  if (name == kImmutableSetting) return "can't set immutable config";
  if (EqualsIgnoreCase(fixed->value, value)) return {};
  return "must be " + Quoted(fixed->value) + " on this server, got " + Quoted(value, 128);
}

// Returns the current values of the settings to change, in the order of the changes. If one of them
// cannot be changed, returns nullopt after sending an error.
std::optional<std::vector<Setting>> FindSettingsToChange(Invocation& call) {
  std::vector<Setting> present;
  for (std::size_t i = 2; i < call.arguments.size(); i += 2) {
    const std::string name = Lowered(call.arguments[i]);
    const auto setting = FindSetting(call.server.environment.settings, name);
    if (!setting) {
      call.reply.Error(ErrorCode::kErr, "Unknown option or number of arguments for CONFIG SET - " +
                                            Quoted(call.arguments[i], 128));
      return std::nullopt;
    }
    for (const Setting& other : present) {
      if (other.name != name) continue;
      RefuseSetting(call, name, "duplicate parameter");
      return std::nullopt;
    }
    present.push_back(*setting);
  }
  return present;
}

// Changes either all of the given settings or none.
void ConfigSet(Invocation& call) {
  if (call.arguments.size() % 2 != 0) return RefuseSyntax(call.reply);
  const auto before = FindSettingsToChange(call);
  if (!before) return;
  Settings& settings = call.server.environment.settings;
  for (std::size_t i = 0; i < before->size(); ++i) {
    const std::string why = Change(settings, (*before)[i].name, call.arguments[2 * i + 3]);
    if (why.empty()) continue;
    for (std::size_t j = i; j-- > 0;) {
      Change(settings, (*before)[j].name, (*before)[j].value);
    }
    return RefuseSetting(call, (*before)[i].name, why);
  }
  call.reply.Ok();
}

void ResetStatistics(Invocation& call) {
  call.server.statistics.Reset();
  call.reply.Ok();
}

// Unlike Redis, also replies if the client is a monitor already. Without a reply, the client would
// take the reply to its next request for this one.
void Monitor(Invocation& call) {
  if (call.server.delivery.is_in_step()) {
    return call.reply.Error(ErrorCode::kErr, "MONITOR isn't allowed for DENY BLOCKING client");
  }
  if (!call.client.profile.is_monitor) call.server.monitors.Add(call.client);
  call.reply.Ok();
}

constexpr std::int64_t kBackupsKeptMax = 10'000;

BackupRequest ReadBackupRequest(ArgumentReader& arguments) {
  enum : std::uint32_t { kIn = 1U << 0, kKeep = 1U << 1 };
  BackupRequest request;
  std::uint32_t seen = 0;
  if (arguments.has_more() && arguments.Peek().starts_with('/')) {
    request.path = arguments.Next("path");
  }
  while (arguments.has_more()) {
    if (!request.path.empty()) {
      arguments.Fail(
          "syntax error: nothing may follow a path; IN and KEEP are only for folders that the "
          "server names");
    } else if (arguments.TakeOnce("IN", kIn, seen)) {
      request.folder = arguments.Next("IN");
    } else if (arguments.TakeOnce("KEEP", kKeep, seen)) {
      request.kept_max = static_cast<std::size_t>(arguments.Integer("KEEP", 1, kBackupsKeptMax));
    } else {
      arguments.FailUnknownOption("an absolute path on the server's machine, IN or KEEP");
    }
  }
  if (!request.folder.empty() && !request.folder.starts_with('/')) {
    arguments.Fail("IN must be an absolute path on the server's machine, got " +
                   Quoted(request.folder, 128));
  }
  return request;
}

// Paths refer to the server's machine, and the server writes with its own file permissions.
void Backup(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  const BackupRequest request = ReadBackupRequest(arguments);
  if (!arguments.Finish(call.reply)) return;
  Persistence* const persistence = call.server.environment.persistence;
  const std::string why = persistence == nullptr
                              ? "there is no stored data to copy"
                              : persistence->StartBackup(request, call.client.profile.id);
  if (!why.empty()) return call.reply.Error(ErrorCode::kErr, "no backup was made: " + why);
  call.client.wait.Begin(WaitKind::kBackup, call.server.statistics.gauges);
}

// A single server replies like Redis without an append-only file and replicas. In a fleet, each
// change is on the disks of etcd.
void WaitAof(Invocation& call) {
  for (const std::string_view number : call.arguments.views().subspan(1)) {
    if (!ReadRedisInteger(call, number)) return;
  }
  const Fleet* fleet = call.server.environment.fleet;
  call.reply.ArrayHeader(2);
  call.reply.Integer(fleet == nullptr ? 0 : 1);
  call.reply.Integer(ReplicasWithAllChanges(fleet));
}

void Shutdown(Invocation& call) {
  bool is_abort = false;
  bool saves = false;
  bool saves_not = false;
  for (const std::string_view option : call.arguments.views().subspan(1)) {
    if (EqualsIgnoreCase(option, "ABORT")) {
      is_abort = true;
    } else if (EqualsIgnoreCase(option, "SAVE")) {
      saves = true;
    } else if (EqualsIgnoreCase(option, "NOSAVE")) {
      saves_not = true;
    } else if (!EqualsIgnoreCase(option, "NOW") && !EqualsIgnoreCase(option, "FORCE")) {
      return RefuseSyntax(call.reply);
    }
  }
  if ((is_abort && call.arguments.size() > 2) || (saves && saves_not))
    return RefuseSyntax(call.reply);
  if (is_abort) return call.reply.Error(ErrorCode::kErr, "No shutdown in progress.");
  // Sends no reply: the client sees that the connection closes.
  call.server.environment.request_shutdown();
  call.client.output.CloseAfter();
}

constexpr std::uint32_t kSteering = kAdmin | kDangerous | kNoScript;

constexpr auto kServerCommands = std::to_array<CommandSpec>({
    {"TIME", Time, 1, kFast, {}, "server", "", "The wall clock: seconds and microseconds", "O(1)"},
    {"DBSIZE",
     DbSize,
     1,
     kReadOnly | kFast,
     {},
     "server",
     "",
     "How many keys of this database are held or waited for",
     "O(1)"},
    {"ROLE",
     Role,
     1,
     kFast | kAdmin | kDangerous,
     {},
     "server",
     "",
     "In a fleet, the leader replies like a Redis master with its replicas, and a standby like a "
     "replica. A single server replies like a master without replicas",
     "O(1)"},
    {"INFO",
     Info,
     -1,
     kDangerous,
     {},
     "server",
     "[section ...]",
     "Information and statistics about the server",
     "O(connections)"},
    {"CONFIG",
     nullptr,
     -2,
     0,
     {},
     "server",
     "",
     "Reads and changes the configuration",
     "Depends on the subcommand"},
    {"CONFIG|GET",
     ConfigGet,
     -3,
     kSteering,
     {},
     "server",
     "pattern [pattern ...]",
     "The settings whose names match, and their values",
     "O(settings)"},
    {"CONFIG|SET",
     ConfigSet,
     -4,
     kSteering | kAudited,
     {},
     "server",
     "setting value [setting value ...]",
     "Changes settings while the server runs: all of them, or none with an error",
     "O(settings)"},
    {"CONFIG|RESETSTAT",
     ResetStatistics,
     2,
     kSteering | kAudited,
     {},
     "server",
     "",
     "Resets the counts of connections, commands and errors to 0",
     "O(commands)"},
    {"CONFIG|HELP", AnswerHelp, 2, 0, {}, "server", "", "Lists the subcommands", "O(1)"},
    {"MONITOR",
     Monitor,
     1,
     kSteering | kAudited,
     {},
     "server",
     "",
     "Sends this connection a line for each request that the server executes, until RESET; "
     "requests that manage the server, such as CONFIG, are left out",
     "O(1), then O(bytes) for each request"},
    {"BACKUP",
     Backup,
     -1,
     kSteering | kBlocking | kNoMulti | kAudited,
     {},
     "server",
     "[path | IN folder] [KEEP n]",
     "Creates a folder with a copy of the current data, for --restore; replies when it is complete",
     "O(data)"},
    {"WAITAOF",
     WaitAof,
     4,
     0,
     {},
     "server",
     "numlocal numreplicas timeout",
     "Replies at once: with 0 and 0 on a single server, whose configuration sets the durability; "
     "in a fleet, with 1 and the number of standbys",
     "O(1)"},
    {"SHUTDOWN",
     Shutdown,
     -1,
     kSteering | kNoMulti | kAudited,
     {},
     "server",
     "[SAVE|NOSAVE] [NOW] [FORCE] [ABORT]",
     "Stops the server as SIGTERM does",
     "O(connections)"},
});

}  // namespace

std::span<const CommandSpec> ServerCommands() { return kServerCommands; }

}  // namespace fairlock::command
