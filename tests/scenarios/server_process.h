// A fairlockd for one test, on a free port of this machine.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/scenarios/connection.h"
#include "tests/scenarios/scenario.h"

namespace fairlock::scenarios {

// Runs in an empty temporary directory, which is removed with it. Ends no later than its parent.
class ServerProcess {
 public:
  ServerProcess(const std::string& program, const std::vector<ServerOption>& options);
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess();

  // Returns when the server accepts connections: an empty string, or the reason why it does not.
  std::string Start();
  // Asks it to stop, and waits. Returns an empty string, or how it ended if that was not clean.
  std::string Stop();

  const Address& address() const { return address_; }

 private:
  std::string StartOnFreePort();
  [[noreturn]] void Become(pid_t parent) const;
  // Returns the exit status, if the server has ended.
  std::optional<int> FindExit();
  std::string Describe(int status) const;
  std::string Output() const;

  std::string program_;
  const std::vector<ServerOption> options_;
  std::string directory_;
  Address address_;
  pid_t pid_ = 0;
};

}  // namespace fairlock::scenarios
