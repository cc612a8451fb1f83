// The options of SET and MSETEX.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "server/command/handlers/redis_arguments.h"
#include "server/engine/api/redis_requests.h"

namespace fairlock::command {

// EX, PX, EXAT or PXAT; null: another word.
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
