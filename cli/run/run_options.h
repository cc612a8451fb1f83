// What `fairlockctl run` was asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/lock_words.h"
#include "cli/base/clock.h"
#include "cli/base/exit_codes.h"

namespace fairlock::cli {

struct RunOptions {
  std::vector<std::string> keys;  // several: all of them or none
  std::string owner;
  bool is_owner_given = false;  // by the user: then another run may have the same one
  LockWords words;  // `ttl_ms` none: no lease, the session alone; the wait is always there
  bool is_session = false;
  DurationMs grace_ms = 0;
  DurationMs kill_after_ms = 0;
  DurationMs report_every_ms = 0;  // off a terminal: how often it says what it waits for; 0: never
  int conflict_exit_code = kExitNotObtained;
  bool is_json = false;  // what it says itself, on standard error
  std::vector<std::string> command;
};

}  // namespace fairlock::cli
