// Writes a lock event as the JSON object that channels carry.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "server/engine/api/event.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

struct LockMessage {
  std::string_view event;
  engine::KeyName key;
  std::string_view owner;
  engine::Token token = 0;      // 0: none
  std::int64_t at_unix_ms = 0;  // when it happened
  engine::DurationMs waited_ms = 0;
  engine::DurationMs held_ms = 0;
  engine::DurationMs grace_ms = 0;              // 0: the event has none
  std::string_view reason = {};                 // empty: none
  std::span<const std::string_view> keys = {};  // for the outcome of an MLOCK: all of its keys
};

// Returns the name of the event kind in messages.
std::string_view EventName(engine::EventKind kind);

// Returns why the event happened; empty if the kind needs no reason.
std::string_view EventReason(engine::EventKind kind, engine::DenialReason reason);

// Appends an object like this, without the line break:
//
// {"event":"granted","db":0,"key":"k","owner":"o","token":7,"at":1700000000123,"waited_ms":0,
// "held_ms":0,"reason":null}
//
// If a key or owner is not UTF-8, invalid bytes are replaced by U+FFFD, and an additional field
// "key_base64" or "owner_base64" at the end has the exact bytes. For MLOCK there is also a list
// "keys", and a list "keys_base64" if one of the keys is not UTF-8.
void AppendLockMessage(std::string& out, const LockMessage& message);

}  // namespace fairlock::command
