// Lists the connections, one page per turn.
#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <memory>

#include "server/http/command_caller.h"
#include "server/http/route.h"

namespace fairlock::http {

struct ClientQuery {
  std::uint64_t after = 0;  // lists only connections with a higher id
  std::size_t count_max = 100;
  bool is_only_waiting = false;  // only connections with a waiting request
};

std::unique_ptr<Job> ListClients(CommandCaller& commands, const ClientQuery& query);

}  // namespace fairlock::http
