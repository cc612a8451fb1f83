// What is known about a client: the properties that CLIENT shows and sets.
#pragma once

#include <cstdint>
#include <string>

#include "protocol/reply_writer.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

struct CommandSpec;

struct ClientAddress {
  std::string peer;  // "127.0.0.1:50312"; for a unix socket "/path:0", as in Redis
  std::string local;
  int descriptor = -1;  // for display only
  bool is_tls = false;
};

struct ClientProfile {
  protocol::RespVersion version = protocol::RespVersion::kResp2;
  std::uint8_t database = 0;
  bool is_monitor = false;
  bool is_at_sentinel_port = false;
  std::uint64_t id = 0;
  ClientAddress address;
  std::string name;
  std::string library_name;
  std::string library_version;
  std::string user = "default";
  engine::TimeMs connected_at = 0;
  engine::TimeMs active_at = 0;  // when its last request was executed
  const CommandSpec* last_command = nullptr;
  std::uint64_t commands_processed = 0;
};

}  // namespace fairlock::command
