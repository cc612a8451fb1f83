// A limit with which an operator replaces the LIMITs of clients.
#pragma once

#include <cstdint>
#include <string>

#include "server/engine/api/types.h"

namespace fairlock::engine {

struct LimitOverride {
  std::uint8_t db = 0;
  std::string pattern;      // a glob for keys of that database
  std::uint32_t limit = 0;  // 0 drains the keys: no new holder, with or without LIMIT
  std::string reason;
  std::string user;     // who set it
  std::string address;  // the network address of that user
  TimeMs since = 0;
  TimeMs end = kNever;
};

}  // namespace fairlock::engine
