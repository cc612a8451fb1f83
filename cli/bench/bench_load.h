// Many connections that lock and unlock as fast as they are answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "cli/arguments/command.h"
#include "cli/base/clock.h"
#include "cli/base/result.h"
#include "cli/connection/wire.h"

namespace fairlock::cli {

struct BenchLoad {
  int connections = 1;
  DurationMs duration_ms = 0;
  std::string key_prefix;
  bool is_one_key = false;  // all wait in one line; else each has its own key
};

struct BenchResult {
  std::int64_t pairs = 0;                  // of LOCK and UNLOCK
  std::vector<std::int64_t> latencies_us;  // of the answers to LOCK, sorted
  DurationMs took_ms = 0;
  double own_cpu_seconds = 0;  // of this process
  bool is_in_order = true;     // tokens on one key only rose
};

// One thread and one loop. Every connection sends the next request when the last one is answered.
Result<BenchResult> RunLoad(const BenchLoad& load, const Context& context);

}  // namespace fairlock::cli
