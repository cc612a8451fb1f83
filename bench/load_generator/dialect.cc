#include "bench/load_generator/dialect.h"

#include <array>

#include "bench/load_generator/failure.h"
#include "protocol/request_writer.h"

namespace fairlock::bench {

namespace {

using protocol::AppendRequest;
using protocol::ReplyType;
using protocol::SkippedReply;

constexpr std::string_view kContendedLeaseMs = "30000";

bool IsOne(const SkippedReply& reply) {
  return reply.type == ReplyType::kInteger && reply.integer == 1;
}

void LockFairlock(std::string& out, std::string_view key, std::string_view owner,
                  std::uint64_t lease_ms) {
  AppendRequest(out, {"LOCK", key, owner, "PX", std::to_string(lease_ms)});
}

bool IsToken(const SkippedReply& reply) {
  return reply.type == ReplyType::kInteger && reply.integer > 0;
}

void UnlockFairlock(std::string& out, std::string_view key, std::string_view owner) {
  AppendRequest(out, {"UNLOCK", key, owner});
}

void LockFairlockWaiting(std::string& out, std::string_view key, std::string_view owner) {
  AppendRequest(out, {"LOCK", key, owner, "PX", kContendedLeaseMs, "WAIT", "FOREVER"});
}

void LockRedis(std::string& out, std::string_view key, std::string_view owner,
               std::uint64_t lease_ms) {
  AppendRequest(out, {"SET", key, owner, "NX", "PX", std::to_string(lease_ms)});
}

bool IsOk(const SkippedReply& reply) {
  return reply.type == ReplyType::kSimple && reply.text == "OK";
}

void UnlockRedis(std::string& out, std::string_view key, std::string_view) {
  AppendRequest(out, {"DEL", key});
}

void PopRedis(std::string& out, std::string_view key, std::string_view) {
  AppendRequest(out, {"BLPOP", key, "0"});
}

bool IsPopped(const SkippedReply& reply) { return reply.type == ReplyType::kArray; }

void PushRedis(std::string& out, std::string_view key, std::string_view) {
  AppendRequest(out, {"RPUSH", key, "token"});
}

// compare.sh loads the script into the server.
void UnlockByScript(std::string& out, std::string_view key, std::string_view owner) {
  AppendRequest(out, {"EVALSHA", "e9f69f2beb755be68b5e456ee2ce9aadfbc4ebf4", "1", key, owner});
}

constexpr std::array<Dialect, 3> kDialects = {{
    {.name = "fairlock",
     .append_lock = LockFairlock,
     .is_locked = IsToken,
     .append_unlock = UnlockFairlock,
     .is_unlocked = IsOne,
     .append_locked_wait = LockFairlockWaiting,
     .is_granted = IsToken,
     .append_hand_on = UnlockFairlock,
     .is_handed_on = IsOne,
     .append_setup = [](std::string&, std::string_view) {},
     .has_tokens = true},
    {.name = "redis",
     .append_lock = LockRedis,
     .is_locked = IsOk,
     .append_unlock = UnlockRedis,
     .is_unlocked = IsOne,
     .append_locked_wait = PopRedis,
     .is_granted = IsPopped,
     .append_hand_on = PushRedis,
     .is_handed_on = IsOne,
     .append_setup = [](std::string& out, std::string_view key) { PushRedis(out, key, {}); },
     .has_tokens = false},
    {.name = "script",
     .append_lock = LockRedis,
     .is_locked = IsOk,
     .append_unlock = UnlockByScript,
     .is_unlocked = IsOne,
     .append_locked_wait = PopRedis,
     .is_granted = IsPopped,
     .append_hand_on = PushRedis,
     .is_handed_on = IsOne,
     .append_setup = [](std::string& out, std::string_view key) { PushRedis(out, key, {}); },
     .has_tokens = false},
}};

std::string Padded(std::string_view prefix, std::uint64_t number, std::size_t bytes) {
  const std::string digits = std::to_string(number);
  if (prefix.size() + digits.size() > bytes) {
    Fail("names of " + std::to_string(bytes) + " bytes are too short to be distinct");
  }
  return std::string(prefix) + std::string(bytes - prefix.size() - digits.size(), '0') + digits;
}

}  // namespace

const Dialect& DialectNamed(std::string_view name) {
  for (const Dialect& dialect : kDialects) {
    if (dialect.name == name) return dialect;
  }
  Fail("--dialect must be fairlock, redis or script, got '" + std::string(name) + "'");
}

std::string KeyName(std::uint64_t number, std::size_t bytes) {
  return Padded("lock:", number, bytes);
}

std::string OwnerName(std::uint64_t number, std::size_t bytes) {
  return Padded("owner:", number, bytes);
}

}  // namespace fairlock::bench
