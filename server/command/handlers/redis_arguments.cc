#include "server/command/handlers/redis_arguments.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include "server/command/handlers/shared_replies.h"
#include "server/command/server_parts.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"
#include "text/hexadecimal.h"

namespace fairlock::command {

using protocol::ErrorCode;

namespace {

using Kind = ValueCondition::Kind;

constexpr std::size_t kDigestDigits = 16;
constexpr auto kConditions = std::to_array<std::pair<std::string_view, Kind>>({
    {"IFEQ", Kind::kEqual},
    {"IFNE", Kind::kOther},
    {"IFDEQ", Kind::kEqualDigest},
    {"IFDNE", Kind::kOtherDigest},
});

// As in Redis, whatever strtoull accepts, except blanks at the front.
std::optional<std::uint64_t> ParseCursor(std::string_view text) {
  constexpr int kDecimal = 10;
  if (!text.empty() && IsBlank(text[0])) return std::nullopt;
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  const std::uint64_t cursor = std::strtoull(copy.c_str(), &end, kDecimal);
  if (*end != '\0' || errno == ERANGE) return std::nullopt;
  return cursor;
}

}  // namespace

bool IsBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::optional<std::int64_t> ParseRedisInteger(std::string_view text) {
  const auto number = ParseInteger(text);
  if (!number || std::to_string(*number) != text) return std::nullopt;
  return number;
}

std::optional<std::int64_t> ReadRedisInteger(Invocation& call, std::string_view text) {
  const auto number = ParseRedisInteger(text);
  if (!number) call.reply.Error(ErrorCode::kErr, "value is not an integer or out of range");
  return number;
}

std::optional<std::uint64_t> ReadCursor(Invocation& call, std::string_view text) {
  const auto cursor = ParseCursor(text);
  if (!cursor) call.reply.Error(ErrorCode::kErr, "invalid cursor");
  return cursor;
}

bool IsKeyOrRefuse(Invocation& call, std::string_view key) {
  if (key.size() <= engine::kKeyBytesMax) return true;
  call.reply.Error(ErrorCode::kErr,
                   "key must have at most 1024 bytes, got " + std::to_string(key.size()));
  return false;
}

bool IsValueOrRefuse(Invocation& call, std::string_view value) {
  return IsValueSizeOrRefuse(call, value.size());
}

bool IsValueSizeOrRefuse(Invocation& call, std::size_t bytes) {
  if (bytes > 0 && bytes <= engine::kOwnerBytesMax) return true;
  call.reply.Error(ErrorCode::kErr,
                   "value must have 1 to 8192 bytes, got " + std::to_string(bytes) +
                       ": it is the owner of a lock, and fairlock keeps locks, not data; a cache "
                       "belongs elsewhere");
  return false;
}

engine::RedisView& LocksOf(const Invocation& call) { return call.server.locks.engine().redis(); }

engine::KeyName KeyOf(const Invocation& call, std::size_t position) {
  return {call.key.db, call.arguments[position], position == 1 ? call.key.hash : 0};
}

std::optional<engine::DurationMs> ReadLease(Invocation& call, std::string_view text,
                                            const TimeForm& form, std::string_view command,
                                            bool may_be_past) {
  const auto number = ReadRedisInteger(call, text);
  if (!number) return std::nullopt;
  // As in Redis, a time is too large only if it overflows as Unix time in milliseconds.
  const std::int64_t unix_now_ms = call.server.environment.clock.UnixTimeUs() / 1000;
  std::int64_t end_ms = 0;
  const bool is_overflow =
      __builtin_mul_overflow(*number, form.unit_ms, &end_ms) ||
      (!form.is_absolute && __builtin_add_overflow(end_ms, unix_now_ms, &end_ms));
  if (is_overflow || (!may_be_past && *number <= 0)) {
    call.reply.Error(ErrorCode::kErr,
                     "invalid expire time in '" + std::string(command) + "' command");
    return std::nullopt;
  }
  // Clients commonly use a huge number for "forever", so it gives the longest lease.
  if (end_ms > unix_now_ms + engine::kLeaseMsMax) return engine::kLeaseMsMax;
  return std::max<std::int64_t>(end_ms, 0) - unix_now_ms;
}

std::string DigestOf(std::string_view value) {
  return text::HexOf(XXH3_64bits(value.data(), value.size()), kDigestDigits);
}

bool ValueCondition::IsMet(bool exists, std::string_view value) const {
  switch (kind) {
    case Kind::kEqual:
      return exists && value == operand;
    case Kind::kOther:
      return !exists || value != operand;
    case Kind::kEqualDigest:
      return exists && EqualsIgnoreCase(DigestOf(value), operand);
    case Kind::kOtherDigest:
      return !exists || !EqualsIgnoreCase(DigestOf(value), operand);
  }
  return false;
}

std::optional<ValueCondition> FindCondition(std::string_view word) {
  for (const auto& [name, kind] : kConditions) {
    if (EqualsIgnoreCase(word, name)) return ValueCondition{.kind = kind, .operand = {}};
  }
  return std::nullopt;
}

bool IsOperandOrRefuse(Invocation& call, const ValueCondition& condition) {
  const bool is_digest =
      condition.kind == Kind::kEqualDigest || condition.kind == Kind::kOtherDigest;
  if (!is_digest || condition.operand.size() == kDigestDigits) return true;
  call.reply.Error(protocol::ErrorCode::kErr, "must be exactly 16 hexadecimal characters");
  return false;
}

namespace {

std::string_view WhyNotTaken(engine::DenialReason reason) {
  switch (reason) {
    case engine::DenialReason::kReserved:
      return "it is reserved for another owner, whose turn has come";
    case engine::DenialReason::kCooling:
      return "MINHOLD keeps it unavailable after its last hold";
    case engine::DenialReason::kDrained:
      return "a LIMIT override admits no new owners (see LIMIT LIST)";
    case engine::DenialReason::kStarting:
      return "fairlock has just started, and leases that it does not know about may still be "
             "running (start_delay)";
    default:
      return "others are already waiting in its queue";
  }
}

}  // namespace

void RefuseWrite(Invocation& call, std::string_view key, const engine::WriteResult& result) {
  if (engine::IsRefusal(result.status)) return RefuseBound(call, result.status);
  if (result.status == engine::WriteStatus::kNative) {
    return call.reply.Error(ErrorCode::kErr,
                            "key: " + Quoted(key) +
                                " is held through LOCK, which this command does not release; its "
                                "owner can UNLOCK it, or BREAK ends it");
  }
  if (result.status == engine::WriteStatus::kLeaving) {
    return call.reply.Error(ErrorCode::kErr,
                            "key: " + Quoted(key) +
                                " is about to be freed by BREAK with GRACE, so its end cannot be "
                                "changed; its holder can release it before");
  }
  std::string text = "key: " + Quoted(key) + " cannot be taken: ";
  text += WhyNotTaken(result.reason);
  text += "; retry SET with NX, or use LOCK with WAIT 30s to wait";
  call.reply.Error(ErrorCode::kErr, text);
}

namespace {

struct LeaseOption {
  std::string_view name;
  TimeForm form;
};

constexpr auto kLeaseOptions = std::to_array<LeaseOption>({
    {"EX", {.unit_ms = 1000}},
    {"PX", {.unit_ms = 1}},
    {"EXAT", {.unit_ms = 1000, .is_absolute = true}},
    {"PXAT", {.unit_ms = 1, .is_absolute = true}},
});

}  // namespace

const TimeForm* FindLeaseOption(std::string_view word) {
  for (const LeaseOption& option : kLeaseOptions) {
    if (EqualsIgnoreCase(word, option.name)) return &option.form;
  }
  return nullptr;
}

std::optional<SetOptions> ReadSetOptions(Invocation& call, std::size_t begin, bool is_of_several) {
  SetOptions options;
  const protocol::Arguments& arguments = call.arguments;
  for (std::size_t i = begin; i < arguments.size(); ++i) {
    const TimeForm* form = FindLeaseOption(arguments[i]);
    const bool is_other_form = options.form != nullptr && options.form != form;
    const auto condition = is_of_several ? std::nullopt : FindCondition(arguments[i]);
    const bool has_condition = options.is_new || options.is_held || options.condition;
    if (form != nullptr && i + 1 < arguments.size() && !options.keeps_end && !is_other_form) {
      options.form = form;
      options.lease = arguments[++i];
    } else if (condition && i + 1 < arguments.size() && !has_condition) {
      options.condition = condition;
      options.condition->operand = arguments[++i];
    } else if (EqualsIgnoreCase(arguments[i], "NX") && !options.is_held && !options.condition) {
      options.is_new = true;
    } else if (EqualsIgnoreCase(arguments[i], "XX") && !options.is_new && !options.condition) {
      options.is_held = true;
    } else if (EqualsIgnoreCase(arguments[i], "KEEPTTL") && options.form == nullptr) {
      options.keeps_end = true;
    } else if (EqualsIgnoreCase(arguments[i], "GET") && !is_of_several) {
      options.gets = true;
    } else {
      RefuseSyntax(call.reply);
      return std::nullopt;
    }
  }
  return options;
}

std::optional<engine::WriteRequest> RequestOf(Invocation& call, const SetOptions& options,
                                              std::string_view command) {
  engine::WriteRequest request;
  request.end = options.keeps_end ? engine::WrittenEnd::kKept : engine::WrittenEnd::kEndless;
  request.only_new = options.is_new;
  request.only_held = options.is_held;
  if (options.form == nullptr) return request;
  // As in Redis, refuses a lease only if it is below 1 in the unit in which it is given.
  const auto number = ParseRedisInteger(options.lease);
  const bool is_positive = number && *number > 0;
  const auto lease_ms = ReadLease(call, options.lease, *options.form, command, is_positive);
  if (!lease_ms) return std::nullopt;
  request.end = engine::WrittenEnd::kAfter;
  request.lease_ms = *lease_ms;
  return request;
}

}  // namespace fairlock::command
