// What `fairlockctl run` was asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/clock.h"
#include "cli/exit_codes.h"
#include "cli/lock_words.h"

namespace fairlock::cli {

struct RunOptions {
  std::string key;
  std::string owner;
  bool is_owner_given = false;  // by the user: then another run may have the same one
  LockWords words;  // `ttl_ms` none: no lease, the session alone; the wait is always there
  bool is_session = false;
  DurationMs grace_ms = 0;
  DurationMs kill_after_ms = 0;
  int conflict_exit_code = kExitNotObtained;
  std::vector<std::string> command;
};

}  // namespace fairlock::cli
