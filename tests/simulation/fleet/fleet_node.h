// A node of the simulated fleet. Its processes come and go.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "storage/replicated/beat.h"
#include "tests/simulation/fleet/run.h"

namespace fairlock::fleet {

struct Node {
  int number = 0;
  std::string name;
  TimeUs boot_offset = 0;
  TimeUs wall_offset = 0;
  std::string machine = {};
  // The partition in its configuration; none means any.
  std::optional<std::uint32_t> configured = {};
  // What a deposed process remembers when it executes itself again.
  struct {
    std::optional<std::uint32_t> partition = {};
    storage::replicated::Beat highest = {};
  } remembered = {};
  bool is_lost = false;                // the machine does not come back
  std::shared_ptr<Run> run = nullptr;  // null if the process is not running
  TimeUs taken_over_at = 0;            // when this run took over; 0 if it is a standby
  TimeUs led_at = 0;                   // when a run had last loaded the locks
  TimeUs continued_at = 0;             // when its last pause ended
};

}  // namespace fairlock::fleet
