// Connections that are shown every request as it is executed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/arguments.h"
#include "server/command/table/command_table.h"
#include "server/command/table/invocation.h"

namespace fairlock::command {

class Client;

// Writes one line per request, in the format of Redis and encoded once for all monitors:
//
// +1700000000.123456 [0 127.0.0.1:50312] "LOCK" "order:42" "worker-1"
// +1700000000.123456 [0 lua] "DEL" "order:42"
//
// A script is shown before the commands that it calls.
//
// Commands that administer the server are not shown, and neither are credentials; commands that
// administer locks, such as BREAK, are shown. Loop-confined.
class Monitors {
 public:
  bool empty() const { return monitors_.empty(); }
  // REQUIRES: the client is not a monitor.
  void Add(Client& client);
  // Does nothing if the client is not a monitor.
  void Remove(Client& client);
  // Called when `from`, or one of its scripts, has just executed the request, or begins a script
  // with it.
  void Show(const Client& from, const CommandSpec& spec, const protocol::Arguments& arguments,
            Origin origin, std::int64_t unix_us);

 private:
  std::vector<Client*> monitors_;
  std::string line_;  // scratch space
};

}  // namespace fairlock::command
