// Writes the replies to LOCK and MLOCK.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "server/command/table/invocation.h"
#include "server/engine/api/requests.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

struct AskedLock {
  std::span<const engine::KeyName> keys;  // for LOCK, only one
  std::string_view owner;
  bool is_explained = false;
  // NOTIFY was given: if the request must wait, it is answered now, and its outcome announced later
  bool is_notified = false;
};

// Notes that the reply at the end of the output announces a grant, which is undone if the
// connection closes before that reply is sent. Grants made in a step are not undone.
void NoteGrant(const Invocation& call, std::uint64_t key_hash, engine::Token token);

// Writes the reply, or makes the client wait for it.
void AnswerLock(Invocation& call, const AskedLock& asked, const engine::LockResult& result);

}  // namespace fairlock::command
