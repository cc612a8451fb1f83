// Redis commands that take locks: SET and similar ones. The value is the owner.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/command/handlers/command_families.h"
#include "server/command/handlers/lock_answer.h"
#include "server/command/handlers/redis_arguments.h"
#include "server/command/handlers/value_access.h"
#include "server/command/server_parts.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using engine::WriteRequest;
using engine::WriteResult;
using engine::WriteStatus;
using engine::WrittenEnd;
using protocol::ErrorCode;

WriteResult Write(const Invocation& call, const WriteRequest& request) {
  return LocksOf(call).Write(request, call.client, call.server.locks.StepAt(call.now));
}

bool IsDone(const WriteResult& result) { return engine::IsDone(result.status); }

// Must be called after writing the reply that announces the grant.
void NoteIfNew(const Invocation& call, const WriteResult& result) {
  if (result.status == WriteStatus::kGranted) NoteGrant(call, result.key_hash, result.token);
}

// The value that GET returns. It is copied because the write changes it.
struct OldValue {
  bool exists = false;
  std::string value;
};

OldValue OldValueOf(const Invocation& call, const engine::KeyName& key) {
  const engine::KeyLook look = LocksOf(call).Look(key, call.server.locks.StepAt(call.now));
  return {look.exists, std::string(look.value())};
}

void BulkOrNull(Invocation& call, const OldValue& old) {
  if (old.exists) {
    call.reply.Bulk(old.value);
  } else {
    call.reply.Null();
  }
}

// With KEEPTTL, the lock that replaces the value ends when the value would have.
void KeepEndOf(const values::Value& value, WriteRequest& request, engine::TimeMs now) {
  if (request.end != WrittenEnd::kKept || !value.expires()) return;
  request.end = WrittenEnd::kAfter;
  request.lease_ms = std::max<engine::DurationMs>(value.deadline() - now, 1);
}

// As in Redis, SET replaces a value of any type.
void WriteOverValue(Invocation& call, WriteRequest request, values::Value& value, bool gets) {
  if (gets) return RefuseType(call.reply);
  if (request.only_new) return call.reply.Null();
  request.only_held = false;  // the key exists
  KeepEndOf(value, request, call.now);
  const WriteResult result = Write(call, request);
  if (!IsDone(result)) return RefuseWrite(call, request.key.bytes, result);
  call.server.values.store().Remove(value);
  call.reply.Ok();
  NoteIfNew(call, result);
}

// Performs the write, unless there is a condition that is not met, and replies as SET does.
void WriteAndAnswer(Invocation& call, const WriteRequest& request, bool gets,
                    const std::optional<ValueCondition>& condition = std::nullopt) {
  if (!IsKeyOrRefuse(call, request.key.bytes) || !IsValueOrRefuse(call, request.value)) return;
  if (condition && !IsOperandOrRefuse(call, *condition)) return;
  if (values::Value* value = ValueOf(call, request.key)) {
    return condition ? RefuseType(call.reply) : WriteOverValue(call, request, *value, gets);
  }
  const OldValue old = gets || condition ? OldValueOf(call, request.key) : OldValue{};
  if (condition && !condition->IsMet(old.exists, old.value)) {
    return gets ? BulkOrNull(call, old) : call.reply.Null();
  }
  const WriteResult result = Write(call, request);
  const bool is_declined = result.status == WriteStatus::kNotHeld ||
                           (result.status == WriteStatus::kDenied && request.only_new);
  if (!is_declined && !IsDone(result)) return RefuseWrite(call, request.key.bytes, result);
  if (gets) {
    BulkOrNull(call, old);
  } else if (is_declined) {
    call.reply.Null();
  } else {
    call.reply.Ok();
  }
  NoteIfNew(call, result);
}

void Set(Invocation& call) {
  const auto options = ReadSetOptions(call, 3, false);
  if (!options) return;
  auto request = RequestOf(call, *options, "set");
  if (!request) return;
  request->key = KeyOf(call, 1);
  request->value = call.arguments[2];
  WriteAndAnswer(call, *request, options->gets, options->condition);
}

void SetWithLease(Invocation& call, const TimeForm& form, std::string_view command) {
  const auto lease_ms = ReadLease(call, call.arguments[2], form, command, false);
  if (!lease_ms) return;
  WriteAndAnswer(call,
                 {.key = KeyOf(call, 1),
                  .value = call.arguments[3],
                  .end = WrittenEnd::kAfter,
                  .lease_ms = *lease_ms},
                 false);
}

void SetEx(Invocation& call) { SetWithLease(call, {.unit_ms = 1000}, "setex"); }
void PSetEx(Invocation& call) { SetWithLease(call, {.unit_ms = 1}, "psetex"); }

void GetSet(Invocation& call) {
  WriteAndAnswer(call, {.key = KeyOf(call, 1), .value = call.arguments[2]}, true);
}

void SetNx(Invocation& call) {
  const WriteRequest request{.key = KeyOf(call, 1), .value = call.arguments[2], .only_new = true};
  if (!IsKeyOrRefuse(call, request.key.bytes) || !IsValueOrRefuse(call, request.value)) return;
  if (ValueOf(call, request.key) != nullptr) return call.reply.Integer(0);
  const WriteResult result = Write(call, request);
  if (engine::IsRefusal(result.status)) return RefuseWrite(call, request.key.bytes, result);
  call.reply.Integer(IsDone(result) ? 1 : 0);
  NoteIfNew(call, result);
}

void MSetNx(Invocation& call) {
  if (call.arguments.size() % 2 == 0) {
    return RefuseArity(*call.server.table.Find("MSETNX"), call.reply);
  }
  std::vector<WriteRequest> requests;
  for (std::size_t i = 1; i < call.arguments.size(); i += 2) {
    const WriteRequest request{
        .key = KeyOf(call, i), .value = call.arguments[i + 1], .only_new = true};
    if (!IsKeyOrRefuse(call, request.key.bytes) || !IsValueOrRefuse(call, request.value)) return;
    requests.push_back(request);
  }
  const bool has_value = std::ranges::any_of(
      requests, [&](const WriteRequest& request) { return ValueOf(call, request.key) != nullptr; });
  if (has_value) return call.reply.Integer(0);
  std::vector<WriteResult> results(requests.size());
  const WriteStatus status =
      LocksOf(call).WriteAllNew(requests, call.client, call.server.locks.StepAt(call.now), results);
  if (engine::IsRefusal(status)) {
    return RefuseWrite(call, requests.front().key.bytes, {.status = status});
  }
  call.reply.Integer(status == WriteStatus::kGranted ? 1 : 0);
  for (const WriteResult& result : results) NoteIfNew(call, result);
}

// Reads pairs of a key and a value. Returns nullopt after sending an error. As in Redis, a key that
// is named twice gets the later value.
std::optional<std::vector<WriteRequest>> ReadWrites(Invocation& call, std::size_t begin,
                                                    std::size_t end, WriteRequest request = {}) {
  std::vector<WriteRequest> requests;
  std::unordered_map<std::string_view, std::size_t> by_key;
  for (std::size_t i = begin; i < end; i += 2) {
    request.key = KeyOf(call, i);
    request.value = call.arguments[i + 1];
    if (!IsKeyOrRefuse(call, request.key.bytes) || !IsValueOrRefuse(call, request.value)) {
      return std::nullopt;
    }
    const auto [found, is_new] = by_key.try_emplace(request.key.bytes, requests.size());
    if (is_new) {
      requests.push_back(request);
    } else {
      requests[found->second].value = request.value;
    }
  }
  return requests;
}

// Writes all, also over values; false after sending an error, and then nothing has changed.
bool WriteAllOrRefuse(Invocation& call, const std::vector<WriteRequest>& requests,
                      std::span<WriteResult> results) {
  const auto refused =
      LocksOf(call).WriteAll(requests, call.client, call.server.locks.StepAt(call.now), results);
  if (refused) {
    RefuseWrite(call, requests[*refused].key.bytes, results[*refused]);
    return false;
  }
  for (const WriteRequest& request : requests) {
    if (values::Value* value = ValueOf(call, request.key)) {
      call.server.values.store().Remove(*value);
    }
  }
  return true;
}

void MSet(Invocation& call) {
  if (call.arguments.size() % 2 == 0) {
    return RefuseArity(*call.server.table.Find("MSET"), call.reply);
  }
  const auto requests = ReadWrites(call, 1, call.arguments.size());
  if (!requests) return;
  std::vector<WriteResult> results(requests->size());
  if (!WriteAllOrRefuse(call, *requests, results)) return;
  call.reply.Ok();
  for (const WriteResult& result : results) NoteIfNew(call, result);
}

bool Exists(Invocation& call, const engine::KeyName& key) {
  return ValueOf(call, key) != nullptr || OldValueOf(call, key).exists;
}

// Whether NX or XX keeps MSETEX from writing.
bool IsDeclined(Invocation& call, const SetOptions& options,
                const std::vector<WriteRequest>& requests) {
  if (!options.is_new && !options.is_held) return false;
  return std::ranges::any_of(requests, [&](const WriteRequest& request) {
    return Exists(call, request.key) == options.is_new;
  });
}

void MSetEx(Invocation& call) {
  const auto count = ParseRedisInteger(call.arguments[1]);
  if (!count || *count < 1 || *count > std::numeric_limits<std::int32_t>::max()) {
    return call.reply.Error(protocol::ErrorCode::kErr, "invalid numkeys value or out of range");
  }
  const auto pairs = static_cast<std::size_t>(*count);
  if (pairs > (call.arguments.size() - 2) / 2) return RefuseSyntax(call.reply);
  const std::size_t end = 2 + 2 * pairs;
  const auto options = ReadSetOptions(call, end, true);
  if (!options) return;
  auto form = RequestOf(call, *options, "msetex");
  if (!form) return;
  form->only_new = form->only_held = false;  // both are judged here, for all keys together
  // As in Redis, a time that is over deletes the keys.
  const bool is_over = form->end == WrittenEnd::kAfter && form->lease_ms <= 0;
  if (is_over) form->end = WrittenEnd::kEndless;
  auto requests = ReadWrites(call, 2, end, *form);
  if (!requests) return;
  if (IsDeclined(call, *options, *requests)) return call.reply.Integer(0);
  for (WriteRequest& request : *requests) {
    if (const values::Value* value = ValueOf(call, request.key))
      KeepEndOf(*value, request, call.now);
  }
  std::vector<WriteResult> results(requests->size());
  if (!WriteAllOrRefuse(call, *requests, results)) return;
  call.reply.Integer(1);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (is_over) {
      LocksOf(call).Release((*requests)[i].key, call.client, call.server.locks.StepAt(call.now));
    } else {
      NoteIfNew(call, results[i]);
    }
  }
}

// GETEX: what becomes of the lease.
struct NextEnd {
  const TimeForm* form = nullptr;  // null: no new lease
  std::string_view lease;
  bool is_endless = false;  // PERSIST
};

// Returns nullopt after sending an error. As in Redis, an option may be repeated.
std::optional<NextEnd> ReadNextEnd(Invocation& call) {
  NextEnd next;
  const protocol::Arguments& arguments = call.arguments;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    const TimeForm* form = FindLeaseOption(arguments[i]);
    const bool is_other_form = next.form != nullptr && next.form != form;
    if (form != nullptr && i + 1 < arguments.size() && !next.is_endless && !is_other_form) {
      next.form = form;
      next.lease = arguments[++i];
    } else if (EqualsIgnoreCase(arguments[i], "PERSIST") && next.form == nullptr) {
      next.is_endless = true;
    } else {
      RefuseSyntax(call.reply);
      return std::nullopt;
    }
  }
  return next;
}

void GetEx(Invocation& call) {
  const auto next = ReadNextEnd(call);
  if (!next) return;
  engine::ExpiryRequest request{.key = KeyOf(call, 1)};
  if (!IsKeyOrRefuse(call, request.key.bytes) || RefusesValue(call, request.key)) return;
  const OldValue old = OldValueOf(call, request.key);
  if (!old.exists) return call.reply.Null();
  if (next->form != nullptr) {
    const auto number = ParseRedisInteger(next->lease);
    const bool is_positive = number && *number > 0;
    request.lease_ms = ReadLease(call, next->lease, *next->form, "getex", is_positive);
    if (!request.lease_ms) return;
  }
  call.reply.Bulk(old.value);
  if (next->form == nullptr && !next->is_endless) return;
  LocksOf(call).Expire(request, call.client, call.server.locks.StepAt(call.now));
}

// Whether a command may change the owner itself; if not, sends the error.
bool MayChangeOrRefuse(Invocation& call, const engine::KeyName& key) {
  if (LocksOf(call).MayChange(key, call.client, call.server.locks.StepAt(call.now))) return true;
  RefuseWrite(call, key.bytes, {.status = WriteStatus::kNative});
  return false;
}

// Returns the owner that INCR and similar commands set next. Returns nullopt after sending an
// error.
std::optional<std::int64_t> NextNumber(Invocation& call, const engine::KeyName& key,
                                       std::int64_t step) {
  if (!MayChangeOrRefuse(call, key)) return std::nullopt;
  const engine::KeyLook look = LocksOf(call).Look(key, call.server.locks.StepAt(call.now));
  const auto number = look.is_held ? ReadRedisInteger(call, look.owner) : 0;
  if (!number) return std::nullopt;
  std::int64_t next = 0;
  if (__builtin_add_overflow(*number, step, &next)) {
    call.reply.Error(ErrorCode::kErr, "increment or decrement would overflow");
    return std::nullopt;
  }
  return next;
}

void Count(Invocation& call, std::int64_t step) {
  const engine::KeyName key = KeyOf(call, 1);
  if (!IsKeyOrRefuse(call, key.bytes) || RefusesValue(call, key)) return;
  const auto next = NextNumber(call, key, step);
  if (!next) return;
  const std::string value = std::to_string(*next);
  const WriteResult result =
      Write(call, {.key = key, .value = value, .end = WrittenEnd::kKept, .is_rename = true});
  if (!IsDone(result)) return RefuseWrite(call, key.bytes, result);
  call.reply.Integer(*next);
  NoteIfNew(call, result);
}

void Incr(Invocation& call) { Count(call, 1); }
void Decr(Invocation& call) { Count(call, -1); }

void IncrBy(Invocation& call) {
  if (const auto step = ReadRedisInteger(call, call.arguments[2])) Count(call, *step);
}

void DecrBy(Invocation& call) {
  const auto step = ReadRedisInteger(call, call.arguments[2]);
  if (!step) return;
  if (*step == std::numeric_limits<std::int64_t>::min()) {
    return call.reply.Error(ErrorCode::kErr, "decrement would overflow");
  }
  Count(call, -*step);
}

void IncrByFloat(Invocation& call) {
  const engine::KeyName key = KeyOf(call, 1);
  if (!IsKeyOrRefuse(call, key.bytes) || RefusesValue(call, key)) return;
  if (!MayChangeOrRefuse(call, key)) return;
  const engine::KeyLook look = LocksOf(call).Look(key, call.server.locks.StepAt(call.now));
  const auto number = look.is_held ? ParseLongDouble(look.owner) : 0;
  const auto step = ParseLongDouble(call.arguments[2]);
  if (!number || !step) return call.reply.Error(ErrorCode::kErr, "value is not a valid float");
  const long double next = *number + *step;
  if (!std::isfinite(next)) {
    return call.reply.Error(ErrorCode::kErr, "increment would produce NaN or Infinity");
  }
  const std::string value = FormatLongDouble(next);
  const WriteResult result =
      Write(call, {.key = key, .value = value, .end = WrittenEnd::kKept, .is_rename = true});
  if (!IsDone(result)) return RefuseWrite(call, key.bytes, result);
  call.reply.Bulk(value);
  NoteIfNew(call, result);
}

constexpr KeyPositions kEverySecond = {
    .first = 1, .last = -1, .step = 2, .effect = KeyEffect::kInsert};
constexpr std::uint32_t kTakes = kWrite | kTakesLock;

constexpr auto kRedisWriteCommands = std::to_array<CommandSpec>({
    {"SET", Set, -3, kTakes | kUnowned, With(kFirstKey, KeyEffect::kOverwriteUnlessGet), "redis",
     "key value [NX | XX | IFEQ old | IFNE old | IFDEQ digest | IFDNE digest] [GET] [EX "
     "seconds | PX milliseconds | EXAT unix-seconds | PXAT "
     "unix-milliseconds | KEEPTTL]",
     "With NX, takes the lock for the owner named by the value, or returns nil; without NX, renews "
     "that owner's hold, or takes over a lock that another owner took the Redis way",
     "O(1)"},
    {"SETNX", SetNx, 3, kTakes | kFast, With(kFirstKey, KeyEffect::kInsert), "redis", "key value",
     "Takes the lock with no expiry for the owner named by the value; 1, or 0 if it is not "
     "available",
     "O(1)"},
    {"SETEX", SetEx, 4, kTakes | kUnowned, With(kFirstKey, KeyEffect::kOverwrite), "redis",
     "key seconds value", "As SET with EX", "O(1)"},
    {"PSETEX", PSetEx, 4, kTakes | kUnowned, With(kFirstKey, KeyEffect::kOverwrite), "redis",
     "key milliseconds value", "As SET with PX", "O(1)"},
    {"GETSET", GetSet, 3, kTakes | kUnowned | kFast, kFirstKey, "redis", "key value",
     "Like SET with GET: returns the previous holder, if it took the lock the Redis way", "O(1)"},
    {"GETEX", GetEx, -2, kWrite | kFast | kUnowned, kFirstKey, "redis",
     "key [EX seconds | PX milliseconds | EXAT unix-seconds | PXAT unix-milliseconds | PERSIST]",
     "GET, then EXPIRE or PERSIST if the lock was taken the Redis way", "O(1)"},
    {"MSET", MSet, -3, kTakes | kUnowned, With(kEverySecond, KeyEffect::kOverwrite), "redis",
     "key value [key value ...]",
     "SET for all of these keys, or an error and nothing, if one of them is not available",
     "O(keys)"},
    {"MSETEX",
     MSetEx,
     -4,
     kTakes | kUnowned,
     {.first = 2, .last = 0, .step = 2, .is_counted = true, .effect = KeyEffect::kOverwrite},
     "redis",
     "numkeys key value [key value ...] [NX | XX] [EX seconds | PX milliseconds | EXAT "
     "unix-seconds "
     "| PXAT unix-milliseconds | KEEPTTL]",
     "MSET for that many keys, with a lease for all of them; NX: only if none of the keys exists, "
     "XX: only if all do. Replies 1, or 0 if NX or XX declined",
     "O(keys)"},
    {"MSETNX", MSetNx, -3, kTakes, kEverySecond, "redis", "key value [key value ...]",
     "Takes all of these locks or none, each for the owner given after its key", "O(keys)"},
    {"INCR", Incr, 2, kTakes | kUnowned | kFast, kFirstKey, "redis", "key",
     "Increments the owner, which must be a whole number; keeps the lease and issues a new token. "
     "A "
     "free lock is taken with owner 1",
     "O(1)"},
    {"DECR", Decr, 2, kTakes | kUnowned | kFast, kFirstKey, "redis", "key", "As INCRBY with -1",
     "O(1)"},
    {"INCRBY", IncrBy, 3, kTakes | kUnowned | kFast, kFirstKey, "redis", "key n", "As INCR, by n",
     "O(1)"},
    {"DECRBY", DecrBy, 3, kTakes | kUnowned | kFast, kFirstKey, "redis", "key n", "As INCR, by -n",
     "O(1)"},
    {"INCRBYFLOAT", IncrByFloat, 3, kTakes | kUnowned | kFast, kFirstKey, "redis", "key increment",
     "As INCR, by a number that may have a fraction; replies with the sum as text", "O(1)"},
});

}  // namespace

std::span<const CommandSpec> RedisWriteCommands() { return kRedisWriteCommands; }

}  // namespace fairlock::command
