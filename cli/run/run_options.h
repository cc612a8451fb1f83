// The options of `fairlockctl run`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/lock_arguments.h"
#include "cli/base/clock.h"
#include "cli/base/exit_codes.h"

namespace fairlock::cli {

struct RunOptions {
  std::vector<std::string> keys;  // if there are several, all are taken or none
  std::string owner;
  bool is_owner_given = false;  // the user gave it, so another process may use the same one
  LockArguments words;          // without `ttl_ms` there is only a session; `wait_ms` is always set
  bool is_session = false;
  DurationMs grace_ms = 0;
  DurationMs kill_after_ms = 0;
  DurationMs kill_margin_ms = 0;  // SIGKILL is sent this long before the hold may end
  // How often to report the wait if there is no terminal; 0 means never.
  DurationMs report_every_ms = 0;
  int conflict_exit_code = kExitNotObtained;
  bool is_json = false;  // the program's own messages on standard error are JSON
  std::vector<std::string> command;
};

}  // namespace fairlock::cli
