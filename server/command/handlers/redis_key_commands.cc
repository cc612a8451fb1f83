// The Redis commands that report, release and expire the keys of locks.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "server/command/handlers/command_costs.h"
#include "server/command/handlers/command_families.h"
#include "server/command/handlers/redis_arguments.h"
#include "server/command/handlers/value_access.h"
#include "server/command/server_parts.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;

engine::KeyLook Look(const Invocation& call, const engine::KeyName& key) {
  return LocksOf(call).Look(key, call.server.locks.StepAt(call.now));
}

// Returns nullopt after sending an error if the key is invalid, or if it has a value of another
// type.
std::optional<engine::KeyLook> LookAtFirst(Invocation& call) {
  const engine::KeyName key = KeyOf(call, 1);
  if (!IsKeyOrRefuse(call, key.bytes) || RefusesValue(call, key)) return std::nullopt;
  return Look(call, key);
}

// Returns false after sending an error if a key is invalid.
bool AreKeys(Invocation& call) {
  const auto keys = call.arguments.views().subspan(1);
  return std::ranges::all_of(keys, [&](std::string_view key) { return IsKeyOrRefuse(call, key); });
}

void WriteValue(Invocation& call, const engine::KeyLook& look) {
  if (look.exists) {
    call.reply.Bulk(look.value());
  } else {
    call.reply.Null();
  }
}

void Get(Invocation& call) {
  if (const auto look = LookAtFirst(call)) WriteValue(call, *look);
}

void MGet(Invocation& call) {
  if (!AreKeys(call) || RefusesCost(call)) return;
  call.reply.ArrayHeader(call.arguments.size() - 1);
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    const engine::KeyName key = KeyOf(call, i);
    // As in Redis, a key of another type counts as free here.
    WriteValue(call, ValueOf(call, key) != nullptr ? engine::KeyLook() : Look(call, key));
  }
}

void StrLen(Invocation& call) {
  const auto look = LookAtFirst(call);
  if (look) call.reply.Integer(static_cast<std::int64_t>(look->value().size()));
}

void GetRange(Invocation& call) {
  const auto first = ReadRedisInteger(call, call.arguments[2]);
  if (!first) return;
  const auto last = ReadRedisInteger(call, call.arguments[3]);
  if (!last) return;
  const auto look = LookAtFirst(call);
  if (!look) return;
  const std::string_view value = look->value();
  const auto size = static_cast<std::int64_t>(value.size());
  // Negative indexes count from the end; those outside the value are clamped.
  const auto place = [&](std::int64_t index) {
    return index >= 0 ? index : std::max<std::int64_t>(index < -size ? 0 : size + index, 0);
  };
  const bool is_backwards = *first < 0 && *last < 0 && *first > *last;
  const std::int64_t begin = place(*first);
  const std::int64_t end = std::min(place(*last), size - 1);
  if (is_backwards || begin > end || value.empty()) {
    call.reply.Bulk("");
  } else {
    call.reply.Bulk(
        value.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin + 1)));
  }
}

void GetDel(Invocation& call) {
  const auto look = LookAtFirst(call);
  if (!look) return;
  const std::string value(look->value());
  const bool was_released =
      LocksOf(call).Release(KeyOf(call, 1), call.client, call.server.locks.StepAt(call.now));
  if (was_released) {
    call.reply.Bulk(value);
  } else {
    call.reply.Null();
  }
}

void Del(Invocation& call) {
  if (!AreKeys(call)) return;
  std::int64_t released = 0;
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    const engine::KeyName key = KeyOf(call, i);
    if (values::Value* value = ValueOf(call, key)) {
      call.server.values.Delete(*value);
      ++released;
    } else if (LocksOf(call).Release(key, call.client, call.server.locks.StepAt(call.now))) {
      ++released;
    }
  }
  call.reply.Integer(released);
}

// Releases the key if the condition is met; the key has no value of another type.
void DeleteIf(Invocation& call, const ValueCondition& condition) {
  const engine::KeyName key = KeyOf(call, 1);
  const engine::KeyLook look = Look(call, key);
  const bool is_released =
      look.exists && condition.IsMet(true, look.value()) &&
      LocksOf(call).Release(key, call.client, call.server.locks.StepAt(call.now));
  call.reply.Integer(is_released ? 1 : 0);
}

// As in Redis, the wording of an error depends on what is wrong.
void DelEx(Invocation& call) {
  const engine::KeyName key = KeyOf(call, 1);
  if (call.arguments.size() == 2) return Del(call);
  if (call.arguments.size() != 4) return RefuseArity(*call.server.table.Find("DELEX"), call.reply);
  auto condition = FindCondition(call.arguments[2]);
  if (!condition) {
    return call.reply.Error(ErrorCode::kErr, "Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE");
  }
  condition->operand = call.arguments[3];
  if (!IsKeyOrRefuse(call, key.bytes) || !IsOperandOrRefuse(call, *condition)) return;
  if (ValueOf(call, key) != nullptr) {
    return call.reply.Error(ErrorCode::kErr,
                            "Key should be of string type if conditions are specified");
  }
  DeleteIf(call, *condition);
}

// The same in Valkey.
void DelIfEq(Invocation& call) {
  const engine::KeyName key = KeyOf(call, 1);
  if (!IsKeyOrRefuse(call, key.bytes) || !IsValueOrRefuse(call, call.arguments[2])) return;
  if (RefusesValue(call, key)) return;
  DeleteIf(call, {.kind = ValueCondition::Kind::kEqual, .operand = call.arguments[2]});
}

void Digest(Invocation& call) {
  const auto look = LookAtFirst(call);
  if (!look) return;
  if (!look->exists) return call.reply.Null();
  call.reply.Bulk(DigestOf(look->value()));
}

void Exists(Invocation& call) {
  if (!AreKeys(call)) return;
  std::int64_t found = 0;
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    const engine::KeyName key = KeyOf(call, i);
    if (ValueOf(call, key) != nullptr || Look(call, key).exists) ++found;
  }
  call.reply.Integer(found);
}

void Type(Invocation& call) {
  const engine::KeyName key = KeyOf(call, 1);
  if (!IsKeyOrRefuse(call, key.bytes)) return;
  if (const values::Value* value = ValueOf(call, key)) {
    return call.reply.Simple(NameOfType(value->type()));
  }
  const engine::KeyLook look = Look(call, key);
  call.reply.Simple(!look.exists ? "none" : look.is_semaphore ? "semaphore" : "string");
}

// What Redis replies instead of a remaining time, if there is none.
constexpr std::int64_t kNoKey = -2;
constexpr std::int64_t kNoEnd = -1;

// The key as far as TTL and similar commands show it.
engine::KeyLook LookAtTime(const Invocation& call, const engine::KeyName& key) {
  const values::Value* value = ValueOf(call, key);
  if (value == nullptr) return Look(call, key);
  engine::KeyLook look{.exists = true};
  if (value->expires()) look.ttl_ms = value->deadline() - call.now;
  return look;
}

void AnswerTime(Invocation& call, const TimeForm& form) {
  const engine::KeyName key = KeyOf(call, 1);
  if (!IsKeyOrRefuse(call, key.bytes)) return;
  const engine::KeyLook look = LookAtTime(call, key);
  if (!look.exists) return call.reply.Integer(kNoKey);
  if (!look.ttl_ms) return call.reply.Integer(kNoEnd);
  const std::int64_t time_ms = form.is_absolute
                                   ? call.server.unix_time.MsOf(call.now + *look.ttl_ms, call.now)
                                   : *look.ttl_ms;
  call.reply.Integer((time_ms + form.unit_ms / 2) / form.unit_ms);
}

void Ttl(Invocation& call) { AnswerTime(call, {.unit_ms = 1000}); }
void PTtl(Invocation& call) { AnswerTime(call, {.unit_ms = 1}); }
void ExpireTime(Invocation& call) { AnswerTime(call, {.unit_ms = 1000, .is_absolute = true}); }
void PExpireTime(Invocation& call) { AnswerTime(call, {.unit_ms = 1, .is_absolute = true}); }

// Returns false after sending an error.
bool ReadConditions(Invocation& call, engine::ExpiryRequest& request) {
  for (std::size_t i = 3; i < call.arguments.size(); ++i) {
    const std::string_view word = call.arguments[i];
    if (EqualsIgnoreCase(word, "NX")) {
      request.only_endless = true;
    } else if (EqualsIgnoreCase(word, "XX")) {
      request.only_ending = true;
    } else if (EqualsIgnoreCase(word, "GT")) {
      request.only_later = true;
    } else if (EqualsIgnoreCase(word, "LT")) {
      request.only_earlier = true;
    } else {
      call.reply.Error(ErrorCode::kErr, "Unsupported option " + Escaped(word));
      return false;
    }
  }
  if (request.only_endless && (request.only_ending || request.only_later || request.only_earlier)) {
    call.reply.Error(ErrorCode::kErr,
                     "NX and XX, GT or LT options at the same time are not compatible");
    return false;
  }
  if (request.only_later && request.only_earlier) {
    call.reply.Error(ErrorCode::kErr, "GT and LT options at the same time are not compatible");
    return false;
  }
  return true;
}

void ChangeEnd(Invocation& call, const engine::ExpiryRequest& request) {
  if (values::Value* value = ValueOf(call, request.key)) {
    return call.reply.Integer(ExpireValue(call, *value, request) ? 1 : 0);
  }
  const engine::ExpiryStatus status =
      LocksOf(call).Expire(request, call.client, call.server.locks.StepAt(call.now));
  if (status == engine::ExpiryStatus::kLeaving) {
    return RefuseWrite(call, request.key.bytes, {.status = engine::WriteStatus::kLeaving});
  }
  call.reply.Integer(status == engine::ExpiryStatus::kChanged ? 1 : 0);
}

void SetEnd(Invocation& call, const TimeForm& form, std::string_view command) {
  engine::ExpiryRequest request{.key = KeyOf(call, 1)};
  if (!IsKeyOrRefuse(call, request.key.bytes) || !ReadConditions(call, request)) return;
  request.lease_ms = ReadLease(call, call.arguments[2], form, command, true);
  if (!request.lease_ms) return;
  ChangeEnd(call, request);
}

void Expire(Invocation& call) { SetEnd(call, {.unit_ms = 1000}, "expire"); }
void PExpire(Invocation& call) { SetEnd(call, {.unit_ms = 1}, "pexpire"); }
void ExpireAt(Invocation& call) {
  SetEnd(call, {.unit_ms = 1000, .is_absolute = true}, "expireat");
}
void PExpireAt(Invocation& call) { SetEnd(call, {.unit_ms = 1, .is_absolute = true}, "pexpireat"); }

void Persist(Invocation& call) {
  const engine::ExpiryRequest request{.key = KeyOf(call, 1)};
  if (IsKeyOrRefuse(call, request.key.bytes)) ChangeEnd(call, request);
}

constexpr std::uint32_t kReads = kReadOnly | kFast;
constexpr std::uint32_t kChanges = kWrite | kFast | kUnowned;

constexpr auto kRedisKeyCommands = std::to_array<CommandSpec>({
    {"GET", Get, 2, kReads, kFirstKey, "redis", "key",
     "Who holds the lock, if it was taken the Redis way; an empty string if it was taken another "
     "way, nil if it is free",
     "O(1)"},
    {"MGET", MGet, -2, kReads, kEveryKey, "redis", "key [key ...]", "GET for each key", "O(keys)"},
    {"GETRANGE", GetRange, 4, kReadOnly, kFirstKey, "redis", "key first last",
     "Part of what GET returns", "O(1)"},
    {"STRLEN", StrLen, 2, kReads, With(kFirstKey, KeyEffect::kTest), "redis", "key",
     "Length in bytes of what GET returns", "O(1)"},
    {"GETDEL", GetDel, 2, kChanges, With(kFirstKey, KeyEffect::kAccessDelete), "redis", "key",
     "GET, then DEL if the lock was taken the Redis way; nil if nothing was released", "O(1)"},
    {"DEL", Del, -2, kWrite | kUnowned, With(kEveryKey, KeyEffect::kDelete), "redis",
     "key [key ...]",
     "Releases locks that any owner took the Redis way, and hands each to its next waiter; replies "
     "with the number of keys released",
     "O(keys)"},
    {"DELEX", DelEx, -2, kChanges, With(kFirstKey, KeyEffect::kDelete), "redis",
     "key [IFEQ old | IFNE old | IFDEQ digest | IFDNE digest]",
     "DEL, if the owner is the value or has the digest, or is another one; 1 if the key was "
     "released",
     "O(1)"},
    {"DELIFEQ", DelIfEq, 3, kWrite | kFast, With(kFirstKey, KeyEffect::kDelete), "redis",
     "key value", "The same as DELEX with IFEQ", "O(1)"},
    {"DIGEST", Digest, 2, kReads, kFirstKey, "redis", "key",
     "The XXH3 hash of what GET returns, as 16 hexadecimal digits", "O(1)"},
    {"UNLINK", Del, -2, kChanges, With(kEveryKey, KeyEffect::kDelete), "redis", "key [key ...]",
     "The same as DEL", "O(keys)"},
    {"EXISTS", Exists, -2, kReads, With(kEveryKey, KeyEffect::kTest), "redis", "key [key ...]",
     "How many of the keys are held, reserved for a waiter, in cooldown, or next for an MLOCK",
     "O(keys)"},
    {"TOUCH", Exists, -2, kReads, With(kEveryKey, KeyEffect::kTest), "redis", "key [key ...]",
     "The same as EXISTS", "O(keys)"},
    {"TYPE", Type, 2, kReads, With(kFirstKey, KeyEffect::kTest), "redis", "key",
     "string; semaphore while the lock is held SHARED or with a LIMIT above 1; none if it is free",
     "O(holders)"},
    {"TTL", Ttl, 2, kReads, kFirstKey, "redis", "key",
     "Seconds until the lease, or whatever else keeps the key taken, ends; -1 if it never ends, -2 "
     "if the key is free",
     "O(holders)"},
    {"PTTL", PTtl, 2, kReads, kFirstKey, "redis", "key", "TTL in milliseconds", "O(holders)"},
    {"EXPIRETIME", ExpireTime, 2, kReads, kFirstKey, "redis", "key", "TTL as Unix time in seconds",
     "O(holders)"},
    {"PEXPIRETIME", PExpireTime, 2, kReads, kFirstKey, "redis", "key",
     "TTL as Unix time in milliseconds", "O(holders)"},
    {"EXPIRE", Expire, -3, kChanges, With(kFirstKey, KeyEffect::kUpdate), "redis",
     "key seconds [NX | XX | GT | LT]",
     "Makes the lease of a lock taken the Redis way last for the given time from now; 0 if nothing "
     "changes",
     "O(1)"},
    {"PEXPIRE", PExpire, -3, kChanges, With(kFirstKey, KeyEffect::kUpdate), "redis",
     "key milliseconds [NX | XX | GT | LT]", "EXPIRE in milliseconds", "O(1)"},
    {"EXPIREAT", ExpireAt, -3, kChanges, With(kFirstKey, KeyEffect::kUpdate), "redis",
     "key unix-seconds [NX | XX | GT | LT]", "EXPIRE at a Unix time in seconds", "O(1)"},
    {"PEXPIREAT", PExpireAt, -3, kChanges, With(kFirstKey, KeyEffect::kUpdate), "redis",
     "key unix-milliseconds [NX | XX | GT | LT]", "EXPIRE at a Unix time in milliseconds", "O(1)"},
    {"PERSIST", Persist, 2, kChanges, With(kFirstKey, KeyEffect::kUpdate), "redis", "key",
     "Removes the expiry from the lease of a lock taken the Redis way; 1 if it had one", "O(1)"},
});

}  // namespace

std::span<const CommandSpec> RedisKeyCommands() { return kRedisKeyCommands; }

}  // namespace fairlock::command
