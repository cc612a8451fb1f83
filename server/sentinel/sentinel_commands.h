// The commands that the Sentinel port accepts.
#pragma once

#include <span>
#include <string_view>

#include "protocol/reply_writer.h"
#include "server/command/client/client.h"
#include "server/command/execution/request_pipeline.h"
#include "server/command/server_parts.h"
#include "server/sentinel/leader_watch.h"
#include "server/sentinel/subscriptions.h"

namespace fairlock::sentinel {

// What a command works on.
struct Call {
  command::ServerParts& server;
  command::RequestPipeline& pipeline;
  const LeaderWatch& watch;
  Subscriptions& subscriptions;
  std::span<const std::string_view> arguments;
  protocol::ReplyWriter reply;
  engine::TimeMs now;
};

// A subscriber in RESP2 may use only a few commands.
bool IsConfined(const Call& call);

// Executes one request. REQUIRES: it has at least one argument.
void Execute(Call& call);

}  // namespace fairlock::sentinel
