// What happened to a lock, as the JSON object that channels carry.
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
  std::string_view reason = {};                 // empty: none
  std::span<const std::string_view> keys = {};  // of an outcome of MLOCK all of them
};

// The word by which messages call an event of that kind.
std::string_view EventName(engine::EventKind kind);

// Why it happened; empty: that needs no word.
std::string_view EventReason(engine::EventKind kind, engine::DenialReason reason);

// {"event":"granted","db":0,"key":"k","owner":"o","token":7,"at":1700000000123,"waited_ms":0,
//  "held_ms":0,"reason":null}
//
// A key or owner that is not UTF-8 stands there with U+FFFD for what is not, and a last field
// "key_base64" or "owner_base64" has its bytes. Of an MLOCK there is a field "keys" too, a list,
// and if one of them is not UTF-8 "keys_base64".
void AppendLockMessage(std::string& out, const LockMessage& message);

}  // namespace fairlock::command
