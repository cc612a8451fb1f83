// Connections that see every request as it is executed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/arguments.h"
#include "server/command/table/command_table.h"
#include "server/command/table/origin.h"

namespace fairlock::command {

class Client;

// A line a request, once for all of them and as Redis writes it:
//
//   +1700000000.123456 [0 127.0.0.1:50312] "LOCK" "order:42" "worker-1"
//   +1700000000.123456 [0 lua] "DEL" "order:42"
//
// A script is shown before what it calls.
//
// What steers the server is not shown, nor what was said to prove who somebody is; what steers
// locks, such as BREAK, is. Loop-confined.
class Monitors {
 public:
  bool empty() const { return monitors_.empty(); }
  // REQUIRES: it is none yet.
  void Add(Client& client);
  // Also of one that is none.
  void Remove(Client& client);
  // `from`, or a script of it, has just executed that request, or begins a script by it.
  void Show(const Client& from, const CommandSpec& spec, const protocol::Arguments& arguments,
            Origin origin, std::int64_t unix_us);

 private:
  std::vector<Client*> monitors_;
  std::string line_;  // scratch
};

}  // namespace fairlock::command
