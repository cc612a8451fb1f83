// A benchmark load: many connections lock and unlock as fast as the server replies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "cli/base/clock.h"
#include "cli/base/result.h"
#include "cli/connection/async_connection.h"
#include "cli/connection/settings.h"

namespace fairlock::cli {

struct BenchLoad {
  int connections = 1;
  DurationMs duration_ms = 0;
  std::string key_prefix;   // contains a hash tag, so that one leader serves all keys
  bool is_one_key = false;  // all connections queue for one key; otherwise each has its own
};

struct BenchResult {
  std::int64_t pairs = 0;                  // LOCK followed by UNLOCK
  std::vector<std::int64_t> latencies_us;  // the latencies of LOCK, sorted
  DurationMs took_ms = 0;
  double own_cpu_seconds = 0;  // the CPU time of this process
  bool is_in_order = true;     // tokens increased on every key
};

// Runs the load in one thread and one loop. Each connection sends its next request when the
// previous one is answered.
Result<BenchResult> RunLoad(const BenchLoad& load, const Settings& settings, const Login& login);

}  // namespace fairlock::cli
