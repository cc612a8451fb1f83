// BITFIELD and BITFIELD_RO: numbers of a few bits each within the owner of a lock, as in Redis.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

using protocol::ErrorCode;

__extension__ using Wide = __int128;  // holds the sum of any two numbers of 64 bits

enum class Overflow : std::uint8_t { kWrap, kSaturate, kFail };
enum class BitVerb : std::uint8_t { kGet, kSet, kIncrement };

struct BitType {
  bool is_signed = false;
  unsigned bits = 0;  // 1 to 64; 63 at most if it is not signed

  Wide min() const { return is_signed ? -(Wide{1} << (bits - 1)) : 0; }
  Wide max() const { return (Wide{1} << (is_signed ? bits - 1 : bits)) - 1; }
};

struct BitOperation {
  BitVerb verb = BitVerb::kGet;
  BitType type;
  std::uint64_t offset = 0;  // of the first bit
  std::int64_t operand = 0;
  Overflow overflow = Overflow::kWrap;
};

struct BitRequest {
  std::vector<BitOperation> operations;
  bool writes = false;
  std::size_t bytes_min = 0;  // of the text, so that all writes are within it
};

// Returns nullopt after sending an error.
std::optional<BitType> ReadBitType(Invocation& call, std::string_view text) {
  constexpr std::int64_t kBitsMax = 64;
  const bool is_signed = text.starts_with('i');
  if (is_signed || text.starts_with('u')) {
    const auto bits = ParseRedisInteger(text.substr(1));
    if (bits && *bits >= 1 && *bits <= kBitsMax - (is_signed ? 0 : 1)) {
      return BitType{is_signed, static_cast<unsigned>(*bits)};
    }
  }
  call.reply.Error(ErrorCode::kErr,
                   "Invalid bitfield type. Use something like i16 u8. Note that u64 is not "
                   "supported but i64 is.");
  return std::nullopt;
}

// Returns nullopt after sending an error.
std::optional<std::uint64_t> ReadBitOffset(Invocation& call, std::string_view text,
                                           const BitType& type) {
  constexpr std::int64_t kRedisBytesMax = std::int64_t{512} << 20;
  const bool counts_fields = text.starts_with('#');
  const auto number = ParseRedisInteger(text.substr(counts_fields ? 1 : 0));
  std::int64_t offset = number.value_or(-1);
  const bool is_overflow =
      counts_fields &&
      __builtin_mul_overflow(offset, static_cast<std::int64_t>(type.bits), &offset);
  if (number && !is_overflow && offset >= 0 && offset / 8 < kRedisBytesMax) {
    return static_cast<std::uint64_t>(offset);
  }
  call.reply.Error(ErrorCode::kErr, "bit offset is not an integer or out of range");
  return std::nullopt;
}

// Returns nullopt after sending an error.
std::optional<Overflow> ReadOverflow(Invocation& call, std::string_view word) {
  if (EqualsIgnoreCase(word, "WRAP")) return Overflow::kWrap;
  if (EqualsIgnoreCase(word, "SAT")) return Overflow::kSaturate;
  if (EqualsIgnoreCase(word, "FAIL")) return Overflow::kFail;
  call.reply.Error(ErrorCode::kErr, "Invalid OVERFLOW type specified");
  return std::nullopt;
}

std::optional<BitVerb> FindBitVerb(std::string_view word, std::size_t arguments_behind) {
  if (EqualsIgnoreCase(word, "GET") && arguments_behind >= 2) return BitVerb::kGet;
  if (EqualsIgnoreCase(word, "SET") && arguments_behind >= 3) return BitVerb::kSet;
  if (EqualsIgnoreCase(word, "INCRBY") && arguments_behind >= 3) return BitVerb::kIncrement;
  return std::nullopt;
}

// Reads the arguments behind the verb, which is at `i`. Returns false after sending an error.
bool ReadBitOperation(Invocation& call, std::size_t i, BitOperation& operation) {
  const auto type = ReadBitType(call, call.arguments[i + 1]);
  if (!type) return false;
  operation.type = *type;
  const auto offset = ReadBitOffset(call, call.arguments[i + 2], *type);
  if (!offset) return false;
  operation.offset = *offset;
  if (operation.verb == BitVerb::kGet) return true;
  const auto operand = ReadRedisInteger(call, call.arguments[i + 3]);
  if (!operand) return false;
  operation.operand = *operand;
  return true;
}

// Returns nullopt after sending an error.
std::optional<BitRequest> ReadBitRequest(Invocation& call) {
  BitRequest request;
  Overflow overflow = Overflow::kWrap;
  for (std::size_t i = 2; i < call.arguments.size(); ++i) {
    const std::size_t behind = call.arguments.size() - 1 - i;
    const auto verb = FindBitVerb(call.arguments[i], behind);
    if (!verb) {
      if (!EqualsIgnoreCase(call.arguments[i], "OVERFLOW") || behind == 0) {
        RefuseSyntax(call.reply);
        return std::nullopt;
      }
      const auto word = ReadOverflow(call, call.arguments[++i]);
      if (!word) return std::nullopt;
      overflow = *word;
      continue;
    }
    BitOperation operation{.verb = *verb, .type = {}, .overflow = overflow};
    if (!ReadBitOperation(call, i, operation)) return std::nullopt;
    i += *verb == BitVerb::kGet ? 2 : 3;
    if (*verb != BitVerb::kGet) {
      const std::uint64_t last_bit = operation.offset + operation.type.bits - 1;
      request.writes = true;
      request.bytes_min = std::max<std::size_t>(request.bytes_min, last_bit / 8 + 1);
    }
    request.operations.push_back(operation);
  }
  return request;
}

// The bit with that offset; bits behind the text are 0. As in Redis, the first bit of a byte is its
// most significant one.
bool BitAt(std::string_view text, std::uint64_t offset) {
  const std::uint64_t byte = offset / 8;
  return byte < text.size() &&
         (static_cast<unsigned char>(text[byte]) >> (7 - offset % 8) & 1) != 0;
}

std::uint64_t BitsAt(std::string_view text, const BitOperation& operation) {
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < operation.type.bits; ++i) {
    bits = bits << 1 | (BitAt(text, operation.offset + i) ? 1 : 0);
  }
  return bits;
}

// The number that the low bits stand for.
std::int64_t NumberOf(std::uint64_t bits, const BitType& type) {
  const unsigned unused = 64 - type.bits;
  if (!type.is_signed) return static_cast<std::int64_t>(bits << unused >> unused);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

// REQUIRES: the bits are within the text.
void PutBits(std::string& text, const BitOperation& operation, std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  for (unsigned i = 0; i < operation.type.bits; ++i) {
    const std::uint64_t offset = operation.offset + i;
    const auto mask = static_cast<unsigned char>(1U << (7 - offset % 8));
    auto byte = static_cast<unsigned char>(text[offset / 8]);
    const bool is_set = (bits >> (operation.type.bits - 1 - i) & 1) != 0;
    byte = static_cast<unsigned char>(is_set ? byte | mask : byte & ~mask);
    text[offset / 8] = static_cast<char>(byte);
  }
}

// The number that fits, in place of one that may not; nullopt: none does.
std::optional<std::int64_t> Fitted(Wide number, const BitOperation& operation) {
  const BitType& type = operation.type;
  if (number >= type.min() && number <= type.max()) return static_cast<std::int64_t>(number);
  if (operation.overflow == Overflow::kFail) return std::nullopt;
  if (operation.overflow == Overflow::kWrap) {
    return NumberOf(static_cast<std::uint64_t>(number), type);
  }
  return static_cast<std::int64_t>(number < type.min() ? type.min() : type.max());
}

// As in Redis, a negative number in SET counts as a huge one if the type has no sign.
Wide OperandOf(const BitOperation& operation) {
  if (operation.type.is_signed || operation.verb == BitVerb::kIncrement) return operation.operand;
  return static_cast<std::uint64_t>(operation.operand);
}

// Applies the operation to the text. Returns what Redis replies; nullopt: nil.
std::optional<std::int64_t> Apply(const BitOperation& operation, std::string& text) {
  const std::int64_t present = NumberOf(BitsAt(text, operation), operation.type);
  if (operation.verb == BitVerb::kGet) return present;
  const bool is_sum = operation.verb == BitVerb::kIncrement;
  const auto next = Fitted((is_sum ? Wide{present} : Wide{0}) + OperandOf(operation), operation);
  if (!next) return std::nullopt;
  PutBits(text, operation, *next);
  return is_sum ? *next : present;
}

void AnswerBits(Invocation& call, const BitRequest& request, std::string& text) {
  call.reply.ArrayHeader(request.operations.size());
  for (const BitOperation& operation : request.operations) {
    if (const auto number = Apply(operation, text)) {
      call.reply.Integer(*number);
    } else {
      call.reply.Null();
    }
  }
}

void ReadBits(Invocation& call, const BitRequest& request) {
  const engine::KeyName key = KeyOf(call, 1);
  if (!IsKeyOrRefuse(call, key.bytes) || RefusesValue(call, key)) return;
  const engine::KeyLook look = LocksOf(call).Look(key, call.server.locks.StepAt(call.now));
  std::string text(look.value());
  AnswerBits(call, request, text);
}

void WriteBits(Invocation& call, const BitRequest& request) {
  const engine::KeyName key = KeyOf(call, 1);
  if (!IsKeyOrRefuse(call, key.bytes) || RefusesValue(call, key) ||
      !IsValueSizeOrRefuse(call, request.bytes_min)) {
    return;
  }
  const engine::Step at_now = call.server.locks.StepAt(call.now);
  if (!LocksOf(call).MayChange(key, call.client, at_now)) {
    return RefuseWrite(call, key.bytes, {.status = engine::WriteStatus::kNative});
  }
  const engine::KeyLook look = LocksOf(call).Look(key, at_now);
  std::string text(look.is_held ? look.owner : std::string_view());
  text.resize(std::max(text.size(), request.bytes_min));
  std::string changed = text;
  for (const BitOperation& operation : request.operations) Apply(operation, changed);
  engine::WriteResult result{.status = engine::WriteStatus::kRenewed};
  if (!look.is_held || changed != look.owner) {
    result = LocksOf(call).Write(
        {.key = key, .value = changed, .end = engine::WrittenEnd::kKept, .is_rename = true},
        call.client, at_now);
  }
  if (!engine::IsDone(result.status)) return RefuseWrite(call, key.bytes, result);
  AnswerBits(call, request, text);
  if (result.status == engine::WriteStatus::kGranted) {
    NoteGrant(call, result.key_hash, result.token);
  }
}

void BitField(Invocation& call) {
  const auto request = ReadBitRequest(call);
  if (!request) return;
  request->writes ? WriteBits(call, *request) : ReadBits(call, *request);
}

void BitFieldRo(Invocation& call) {
  const auto request = ReadBitRequest(call);
  if (!request) return;
  if (!request->writes) return ReadBits(call, *request);
  call.reply.Error(ErrorCode::kErr, "BITFIELD_RO only supports the GET subcommand");
}

constexpr auto kBitFieldCommands = std::to_array<CommandSpec>({
    {"BITFIELD", BitField, -2, kWrite | kTakesLock | kUnowned,
     With(kFirstKey, KeyEffect::kChangeUnlessGet), "redis",
     "key [GET encoding offset | [OVERFLOW WRAP|SAT|FAIL] SET encoding offset value | [OVERFLOW "
     "WRAP|SAT|FAIL] INCRBY encoding offset increment ...]",
     "Reads and changes numbers of a few bits within the owner, such as u16, as INCR changes the "
     "whole owner",
     "O(operations)"},
    {"BITFIELD_RO", BitFieldRo, -2, kReadOnly | kFast, kFirstKey, "redis",
     "key [GET encoding offset ...]", "BITFIELD with GET only", "O(operations)"},
});

}  // namespace

std::span<const CommandSpec> BitFieldCommands() { return kBitFieldCommands; }

}  // namespace fairlock::command
