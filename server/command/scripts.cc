#include "server/command/scripts.h"

#include "server/command/client.h"
#include "server/command/dispatcher.h"

namespace fairlock::command {

void Scripts::Run(script::Script& script, const RunOptions& options, Invocation& call) {
  client_ = &call.client;
  now_ = call.now;
  // SELECT goes for the rest of the script only.
  const std::uint8_t database = client_->database();
  dispatcher_.BeginStep(now_);
  interpreter_.Run(script,
                   {.host = *this,
                    .keys = options.keys,
                    .arguments = options.arguments,
                    .version = call.reply.version(),
                    .is_read_only = options.is_read_only},
                   client_->output());
  dispatcher_.EndStep(now_);
  client_->set_database(database);
  client_ = nullptr;
}

void Scripts::Execute(const script::CommandCall& call, std::string& reply) {
  request_.arguments.Clear();
  for (const std::string_view argument : call.arguments) request_.arguments.Add(argument);
  dispatcher_.Prepare(*client_, request_);
  dispatcher_.ExecuteForScript(*client_, request_, call.is_read_only, now_,
                               {reply, protocol::RespVersion::kResp2});
}

std::uint64_t Scripts::NowNs() { return dispatcher_.environment().MonotonicNs(); }

void Scripts::Log(script::LogLevel level, std::string_view text) {
  dispatcher_.environment().LogFromScript(level, text);
}

}  // namespace fairlock::command
