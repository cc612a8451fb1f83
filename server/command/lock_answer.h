// What LOCK and MLOCK are answered.
#pragma once

#include <span>
#include <string_view>

#include "server/command/command_table.h"
#include "server/engine/api/requests.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

struct AskedLock {
  std::span<const engine::KeyName> keys;  // of LOCK one
  std::string_view owner;
  bool is_explained = false;
  bool is_notified = false;  // NOTIFY: who must wait is answered now, and told on its channel
};

// Writes the reply, or lets the client wait for it.
void AnswerLock(Invocation& call, const AskedLock& asked, const engine::LockResult& result);

}  // namespace fairlock::command
