// Parses the arguments of commands that Redis has too, in the same way as Redis and with errors in
// its wording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/command/table/command_table.h"
#include "server/engine/api/redis_requests.h"
#include "server/engine/api/types.h"
#include "server/engine/lock_engine.h"

namespace fairlock::command {

// What isspace accepts in the C locale.
bool IsBlank(char c);

// Parses a whole number in the only form that Redis accepts: without a plus sign or leading zeros.
std::optional<std::int64_t> ParseRedisInteger(std::string_view text);

// Like ParseRedisInteger, but returns nullopt after sending an error.
std::optional<std::int64_t> ReadRedisInteger(Invocation& call, std::string_view text);

// Reads the cursor of a scan. Returns nullopt after sending an error.
std::optional<std::uint64_t> ReadCursor(Invocation& call, std::string_view text);

// Each returns false after sending an error. Unlike the names of locks that LOCK takes, a key may
// be empty, as in Redis; a value is the owner of a lock.
bool IsKeyOrRefuse(Invocation& call, std::string_view key);
bool IsValueOrRefuse(Invocation& call, std::string_view value);
// The same for the number of its bytes.
bool IsValueSizeOrRefuse(Invocation& call, std::size_t bytes);

// Returns the key at that position, in the client's database.
engine::KeyName KeyOf(const Invocation& call, std::size_t position);

// Returns the engine's locks as the Redis commands see them.
engine::RedisView& LocksOf(const Invocation& call);

// The unit of a command's times, and whether they are absolute.
struct TimeForm {
  engine::DurationMs unit_ms = 1;
  bool is_absolute = false;  // Unix time; otherwise relative to now
};

// Returns milliseconds from now, at most engine::kLeaseMsMax. The result may be below 0 if `form`
// is absolute or `may_be_past` is set. Returns nullopt after sending an error, which names the
// command in lower case.
std::optional<engine::DurationMs> ReadLease(Invocation& call, std::string_view text,
                                            const TimeForm& form, std::string_view command,
                                            bool may_be_past);

// The digest of a value, as DIGEST prints it: the 64 bits of its XXH3 hash as 16 hexadecimal
// digits.
std::string DigestOf(std::string_view value);

// IFEQ, IFNE, IFDEQ or IFDNE: under which SET and DELEX change a key.
struct ValueCondition {
  enum class Kind : std::uint8_t { kEqual, kOther, kEqualDigest, kOtherDigest };

  Kind kind = Kind::kEqual;
  std::string_view operand;

  // Whether the condition is true. A key that does not exist has no value: it equals nothing, and
  // differs from everything.
  bool IsMet(bool exists, std::string_view value) const;
};

// None: the word is not the name of a condition. The operand is still to be set.
std::optional<ValueCondition> FindCondition(std::string_view word);

// Returns false after sending an error, if the operand must be a digest and is not.
bool IsOperandOrRefuse(Invocation& call, const ValueCondition& condition);

// Sends the error for a write that has changed nothing. REQUIRES: the status is kDenied, kNative,
// kLeaving or a refusal.
void RefuseWrite(Invocation& call, std::string_view key, const engine::WriteResult& result);

// Returns the form of EX, PX, EXAT or PXAT; null if it is another word.
const TimeForm* FindLeaseOption(std::string_view word);

struct SetOptions {
  bool is_new = false;
  bool is_held = false;
  bool keeps_end = false;
  bool gets = false;
  std::optional<ValueCondition> condition;
  const TimeForm* form = nullptr;  // the form of EX, PX, EXAT or PXAT; null: none was given
  std::string_view lease;
};

// Reads the options from that argument on; `is_of_several` if they are those of MSETEX. As in
// Redis, an option may be repeated, but it cannot be combined with an option that excludes it.
// Returns nullopt after sending an error.
std::optional<SetOptions> ReadSetOptions(Invocation& call, std::size_t begin, bool is_of_several);

// Returns a request with these options, still without key and value; nullopt after sending an
// error, which names the command.
std::optional<engine::WriteRequest> RequestOf(Invocation& call, const SetOptions& options,
                                              std::string_view command);

}  // namespace fairlock::command
