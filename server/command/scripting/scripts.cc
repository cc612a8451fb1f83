#include "server/command/scripting/scripts.h"

#include <algorithm>
#include <array>
#include <optional>

#include "server/command/client/client.h"
#include "server/command/cluster/key_routing.h"
#include "server/command/cluster/slots.h"
#include "server/command/delivery/effect_delivery.h"
#include "server/command/environment/environment.h"
#include "server/command/execution/executor.h"
#include "server/command/execution/request_pipeline.h"
#include "server/command/locks/availability.h"
#include "server/command/locks/locks.h"
#include "server/command/statistics/statistics.h"
#include "server/command/table/invocation.h"
#include "server/command/table/text.h"
#include "server/script/digest.h"

namespace fairlock::command {

namespace {

const auto& AcquireScripts() {
  static const std::array scripts = {
      script::ParseDigest("e5a322e2634ef59a516e8ea150cb085afafee684"),  // of redlock 4.2
      script::ParseDigest("96da70f7716f27d278a5218544df37fd8b0a5e4c"),  // of redlock 5.0
  };
  return scripts;
}

// Whether the script, called with one key, the value and a lease in ms, takes the lock with EXISTS
// and SET, which together have the same effect as SET NX. If the key is held, such a script does
// not pass the value to any command.
bool AsksByExists(const script::Digest& digest) {
  return std::ranges::find(AcquireScripts(), digest) != AcquireScripts().end();
}

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr const char* kNoTimeLeft =
    "the scripts of this transaction have used up script_time; this one was not run";

}  // namespace

std::uint64_t Scripts::UsedNs() {
  if (!parts_.delivery.is_in_step()) used_ns_ = 0;
  return used_ns_;
}

bool Scripts::IsTimeUsedUp() { return UsedNs() > interpreter_.limits().time_max_ms * kNsPerMs; }

script::LoadResult Scripts::Load(std::string_view text) {
  if (IsTimeUsedUp()) return {.script = nullptr, .error = kNoTimeLeft};
  const std::uint64_t begun_ns = NowNs();
  script::LoadResult loaded = interpreter_.Load(text, *this);
  used_ns_ += NowNs() - begun_ns;
  return loaded;
}

void Scripts::Run(script::Script& script, const RunOptions& options, Invocation& call) {
  if (IsTimeUsedUp()) return call.reply.Error(protocol::ErrorCode::kErr, kNoTimeLeft);
  const std::uint64_t begun_ns = NowNs();
  client_ = &call.client;
  now_ = call.now;
  // A SELECT in a script applies only until the script ends.
  const std::uint8_t database = client_->profile.database;
  if (parts_.routing.is_on()) {
    parts_.routing.BeginScript(options.keys.empty() ? std::nullopt
                                                    : std::optional(SlotOf(options.keys[0])));
  }
  parts_.availability.BeginStep(now_);
  parts_.delivery.BeginStep(now_);
  if (TakesPlace(script, options)) {
    call.has_script_failed = !AcquireByValue(options, call.reply.version());
  } else {
    call.has_script_failed = interpreter_.Run(script,
                                              {.host = *this,
                                               .keys = options.keys,
                                               .arguments = options.arguments,
                                               .version = call.reply.version(),
                                               .is_read_only = options.is_read_only,
                                               .used_ns = used_ns_},
                                              client_->output.bytes());
  }
  parts_.availability.EndStep();
  parts_.delivery.EndStep(now_);
  client_->profile.database = database;
  client_ = nullptr;
  used_ns_ += NowNs() - begun_ns;
}

bool Scripts::TakesPlace(const script::Script& script, const RunOptions& options) const {
  const bool is_one_lock = options.keys.size() == 1 && options.arguments.size() == 2;
  // If the value or the lease is invalid, the script itself must run, because it replies with an
  // error in its own wording.
  const auto lease_ms = is_one_lock ? ParseInteger(options.arguments[1]) : std::nullopt;
  return lease_ms && *lease_ms > 0 && !options.is_read_only &&
         parts_.locks.engine().KeepOfValues(options.keys[0]) > 0 && AsksByExists(script.digest);
}

// Replies as the script would, with the number of locks taken. Returns false if the reply is an
// error.
bool Scripts::AcquireByValue(const RunOptions& options, protocol::RespVersion version) {
  const std::array<std::string_view, 6> set = {"SET", options.keys[0],      options.arguments[0],
                                               "PX",  options.arguments[1], "NX"};
  std::string answer;
  Execute({.arguments = set, .is_read_only = false}, answer);
  if (answer.starts_with('-')) {
    client_->output.bytes().append(answer);
    return false;
  }
  protocol::ReplyWriter(client_->output.bytes(), version).Integer(answer.starts_with('+') ? 1 : 0);
  return true;
}

void Scripts::Execute(const script::CommandCall& call, std::string& reply) {
  request_.arguments.Clear();
  for (const std::string_view argument : call.arguments) request_.arguments.Add(argument);
  parts_.prefetch.Prepare(client_->profile.database, request_);
  parts_.executor.ExecuteForScript(*client_, request_, call.is_read_only, now_, reply);
}

std::uint64_t Scripts::NowNs() { return parts_.environment.clock.MonotonicNs(); }

std::uint64_t Scripts::ProcessorNs() { return parts_.environment.clock.ProcessorNs(); }

void Scripts::CountError(std::string_view text) { parts_.statistics.commands.CountError(text); }

void Scripts::Log(script::LogLevel level, std::string_view text) {
  parts_.environment.log.LogFromScript(level, text);
}

}  // namespace fairlock::command
