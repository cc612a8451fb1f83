// The commands for hashes, as in Redis.

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/command/handlers/command_costs.h"
#include "server/command/handlers/command_families.h"
#include "server/command/handlers/redis_arguments.h"
#include "server/command/handlers/value_access.h"
#include "server/command/table/refusals.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;
using values::Hash;

Opened<Hash> OpenHash(Invocation& call) { return OpenValue<Hash>(call, 1); }

// Sets the fields of HSET or HMSET. Returns how many are new; nullopt after sending an error.
std::optional<std::int64_t> SetFields(Invocation& call, std::string_view command) {
  const protocol::Arguments& arguments = call.arguments;
  if (arguments.size() % 2 != 0) {
    RefuseArity(*call.server.table.Find(command), call.reply);
    return std::nullopt;
  }
  Opened<Hash> opened = OpenHash(call);
  if (opened.is_refused) return std::nullopt;
  Growth growth;
  for (std::size_t i = 2; i < arguments.size(); i += 2) {
    growth.Add(arguments[i].size() + arguments[i + 1].size());
  }
  std::size_t added = 0;
  const auto fields = arguments.views().subspan(2);
  values::Value* value = GrowValue(
      call, opened, growth, [&](Hash& hash) { added = hash.SetAll(fields); },
      [&](const Hash& hash) { return SizeWith(hash, fields); });
  if (value == nullptr) return std::nullopt;
  call.server.values.NoticeChange(*value, "hset", kHashEvents);
  return static_cast<std::int64_t>(added);
}

void HSet(Invocation& call) {
  const auto added = SetFields(call, "HSET");
  if (added) call.reply.Integer(*added);
}

void HMSet(Invocation& call) {
  if (SetFields(call, "HMSET")) call.reply.Ok();
}

void HSetNx(Invocation& call) {
  const std::string_view name = call.arguments[2];
  const std::string_view text = call.arguments[3];
  Opened<Hash> opened = OpenHash(call);
  if (opened.is_refused) return;
  if (opened.value != nullptr && opened.content().Find(name) != nullptr) {
    return call.reply.Integer(0);
  }
  values::Value* value = GrowValue(call, opened, Growth{1, name.size() + text.size()},
                                   [&](Hash& hash) { hash.Set(name, text); });
  if (value == nullptr) return;
  call.server.values.NoticeChange(*value, "hset", kHashEvents);
  call.reply.Integer(1);
}

// Adds the step to the number that the field has. Returns nullopt after sending an error.
std::optional<std::int64_t> NextOf(Invocation& call, const Opened<Hash>& opened,
                                   std::int64_t step) {
  const std::string* text =
      opened.value == nullptr ? nullptr : opened.content().Find(call.arguments[2]);
  const auto number = text == nullptr ? 0 : ParseRedisInteger(*text);
  std::int64_t next = 0;
  if (!number) {
    call.reply.Error(ErrorCode::kErr, "hash value is not an integer");
  } else if (__builtin_add_overflow(*number, step, &next)) {
    call.reply.Error(ErrorCode::kErr, "increment or decrement would overflow");
  } else {
    return next;
  }
  return std::nullopt;
}

void HIncrBy(Invocation& call) {
  const auto step = ReadRedisInteger(call, call.arguments[3]);
  if (!step) return;
  Opened<Hash> opened = OpenHash(call);
  if (opened.is_refused) return;
  const auto next = NextOf(call, opened, *step);
  if (!next) return;
  const std::string_view name = call.arguments[2];
  const std::string text = std::to_string(*next);
  const std::array<std::string_view, 2> field = {name, text};
  values::Value* value = GrowValue(
      call, opened, Growth{1, name.size() + text.size()}, [&](Hash& hash) { hash.Set(name, text); },
      [&](const Hash& hash) { return SizeWith(hash, field); });
  if (value == nullptr) return;
  call.server.values.NoticeChange(*value, "hincrby", kHashEvents);
  call.reply.Integer(*next);
}

void HIncrByFloat(Invocation& call) {
  const auto step = ParseLongDouble(call.arguments[3]);
  if (!step) return call.reply.Error(ErrorCode::kErr, "value is not a valid float");
  if (std::isinf(*step)) return call.reply.Error(ErrorCode::kErr, "value is NaN or Infinity");
  Opened<Hash> opened = OpenHash(call);
  if (opened.is_refused) return;
  const std::string_view name = call.arguments[2];
  const std::string* present = opened.value == nullptr ? nullptr : opened.content().Find(name);
  const auto number = present == nullptr ? 0 : ParseLongDouble(*present);
  if (!number) return call.reply.Error(ErrorCode::kErr, "hash value is not a float");
  const long double next = *number + *step;
  if (!std::isfinite(next)) {
    return call.reply.Error(ErrorCode::kErr, "increment would produce NaN or Infinity");
  }
  const std::string text = FormatLongDouble(next);
  const std::array<std::string_view, 2> field = {name, text};
  values::Value* value = GrowValue(
      call, opened, Growth{1, name.size() + text.size()}, [&](Hash& hash) { hash.Set(name, text); },
      [&](const Hash& hash) { return SizeWith(hash, field); });
  if (value == nullptr) return;
  call.server.values.NoticeChange(*value, "hincrbyfloat", kHashEvents);
  call.reply.Bulk(text);
}

void WriteField(Invocation& call, const std::string* text) {
  if (text == nullptr) {
    call.reply.Null();
  } else {
    call.reply.Bulk(*text);
  }
}

void HGet(Invocation& call) {
  const Opened<Hash> opened = OpenHash(call);
  if (opened.is_refused) return;
  WriteField(call, opened.value == nullptr ? nullptr : opened.content().Find(call.arguments[2]));
}

void HMGet(Invocation& call) {
  const Opened<Hash> opened = OpenHash(call);
  if (opened.is_refused || RefusesCost(call)) return;
  const auto names = call.arguments.views().subspan(2);
  std::vector<const std::string*> found(names.size());
  if (opened.value != nullptr) found = opened.content().FindAll(names);
  call.reply.ArrayHeader(found.size());
  for (const std::string* text : found) WriteField(call, text);
}

void HGetAll(Invocation& call) {
  const Opened<Hash> opened = OpenHash(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return call.reply.MapHeader(0);
  if (RefusesElements(call, 2 * opened.content().size(), opened.content().bytes())) return;
  call.reply.MapHeader(opened.content().size());
  for (const Hash::Field& field : opened.content().fields()) {
    call.reply.Bulk(field.name);
    call.reply.Bulk(field.value);
  }
}

void WriteAll(Invocation& call, std::string Hash::Field::*part) {
  const Opened<Hash> opened = OpenHash(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return call.reply.ArrayHeader(0);
  if (RefusesElements(call, opened.content().size(), opened.content().bytes())) return;
  call.reply.ArrayHeader(opened.content().size());
  for (const Hash::Field& field : opened.content().fields()) call.reply.Bulk(field.*part);
}

void HKeys(Invocation& call) { WriteAll(call, &Hash::Field::name); }
void HVals(Invocation& call) { WriteAll(call, &Hash::Field::value); }

void HLen(Invocation& call) {
  const Opened<Hash> opened = OpenHash(call);
  if (opened.is_refused) return;
  const std::size_t size = opened.value == nullptr ? 0 : opened.content().size();
  call.reply.Integer(static_cast<std::int64_t>(size));
}

void HExists(Invocation& call) {
  const Opened<Hash> opened = OpenHash(call);
  if (opened.is_refused) return;
  const bool exists =
      opened.value != nullptr && opened.content().Find(call.arguments[2]) != nullptr;
  call.reply.Integer(exists ? 1 : 0);
}

void HDel(Invocation& call) {
  const Opened<Hash> opened = OpenHash(call);
  if (opened.is_refused) return;
  std::size_t erased = 0;
  if (opened.value != nullptr) {
    erased = opened.content().EraseAll(call.arguments.views().subspan(2));
  }
  if (erased > 0) call.server.values.NoticeChange(*opened.value, "hdel", kHashEvents);
  call.reply.Integer(static_cast<std::int64_t>(erased));
}

void HScan(Invocation& call) {
  if (!ReadCursor(call, call.arguments[2])) return;
  const Opened<Hash> opened = OpenHash(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return BeginElementPage(call, 0);
  const auto scan = ReadElementScan(call);
  if (!scan) return;
  const Hash& hash = opened.content();
  std::vector<const Hash::Field*> found;
  const std::uint64_t next = VisitPage(
      call, hash.fields(), hash, *scan,
      [](const Hash::Field& field) -> std::string_view { return field.name; },
      [&](const Hash::Field& field) {
        found.push_back(&field);
        return field.name.size() + field.value.size();
      });
  BeginElementPage(call, 2 * found.size(), next);
  for (const Hash::Field* field : found) {
    call.reply.Bulk(field->name);
    call.reply.Bulk(field->value);
  }
}

constexpr std::uint32_t kGrowsHash = kWrite | kTakesLock | kFast;
constexpr std::uint32_t kReadsField = kReadOnly | kFast;

constexpr auto kHashCommands = std::to_array<CommandSpec>({
    {"HSET", HSet, -4, kGrowsHash, With(kFirstKey, KeyEffect::kUpdate), "hash",
     "key field value [field value ...]",
     "Sets fields of a hash, which is created if the key is free; replies with the number of new "
     "fields",
     "O(fields set)"},
    {"HMSET", HMSet, -4, kGrowsHash, With(kFirstKey, KeyEffect::kUpdate), "hash",
     "key field value [field value ...]", "HSET that replies with OK", "O(fields set)"},
    {"HSETNX", HSetNx, 4, kGrowsHash, With(kFirstKey, KeyEffect::kAddElements), "hash",
     "key field value", "Sets a field if the hash does not have it yet; replies with 1 or 0",
     "O(1)"},
    {"HINCRBY", HIncrBy, 4, kGrowsHash, kFirstKey, "hash", "key field increment",
     "Adds to a field that is a whole number, 0 if it does not exist; replies with the sum",
     "O(1)"},
    {"HINCRBYFLOAT", HIncrByFloat, 4, kGrowsHash, kFirstKey, "hash", "key field increment",
     "HINCRBY for numbers that may have fractions; replies with the sum as text", "O(1)"},
    {"HGET", HGet, 3, kReadsField, kFirstKey, "hash", "key field", "The value of a field, or nil",
     "O(1)"},
    {"HMGET", HMGet, -3, kReadsField, kFirstKey, "hash", "key field [field ...]",
     "HGET for each field", "O(fields named)"},
    {"HGETALL", HGetAll, 2, kReadOnly, kFirstKey, "hash", "key", "All fields and their values",
     "O(fields)"},
    {"HKEYS", HKeys, 2, kReadOnly, kFirstKey, "hash", "key", "All fields", "O(fields)"},
    {"HVALS", HVals, 2, kReadOnly, kFirstKey, "hash", "key", "The values of all fields",
     "O(fields)"},
    {"HLEN", HLen, 2, kReadsField, With(kFirstKey, KeyEffect::kTest), "hash", "key",
     "The number of fields", "O(1)"},
    {"HEXISTS", HExists, 3, kReadsField, With(kFirstKey, KeyEffect::kTest), "hash", "key field",
     "Whether the hash has the field: 1 or 0", "O(1)"},
    {"HDEL", HDel, -3, kWrite | kFast, With(kFirstKey, KeyEffect::kDeleteElements), "hash",
     "key field [field ...]",
     "Deletes fields, and the hash with its last one; replies with the number deleted",
     "O(fields named)"},
    {"HSCAN", HScan, -3, kReadOnly, kFirstKey, "hash", "key cursor [MATCH glob] [COUNT count]",
     "A page of the fields that match, and their values; all of them if there are few", "O(count)"},
});

}  // namespace

std::span<const CommandSpec> HashCommands() { return kHashCommands; }

}  // namespace fairlock::command
