// What LOCK and MLOCK are answered.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "server/command/table/invocation.h"
#include "server/engine/api/requests.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

struct AskedLock {
  std::span<const engine::KeyName> keys;  // of LOCK one
  std::string_view owner;
  bool is_explained = false;
  bool is_notified = false;  // NOTIFY: a request that must wait is answered now, and told later
};

// The reply that ends the output announces a grant, which is undone if the connection closes before
// that reply is sent. Grants of a step are not undone.
void NoteGrant(const Invocation& call, std::uint64_t key_hash, engine::Token token);

// Writes the reply, or lets the client wait for it.
void AnswerLock(Invocation& call, const AskedLock& asked, const engine::LockResult& result);

}  // namespace fairlock::command
