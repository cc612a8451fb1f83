// The locks of the server, or of all partitions of a fleet, as the source of a chain.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/base/result.h"
#include "cli/connection/client.h"
#include "cli/connection/fleet_leaders.h"
#include "cli/connection/settings.h"
#include "cli/views/wait_chain.h"

namespace fairlock::cli {

// Reads each lock once. The first request that fails is the last: a server logs each that it
// refuses. What was not read counts as free.
class ServerLocks : public LockSource {
 public:
  // `client` must outlive this object, and use `database`.
  ServerLocks(Client& client, const Settings& settings, const Login& login, int database);

  LockView Lock(const std::string& key) override;
  std::vector<PlaceView> Queue(const std::string& key) override;
  std::vector<std::string> QueuesOf(const std::string& owner) override;
  bool IsStarting() override;

  // Why not everything was read.
  const std::optional<Failure>& failure() const { return failure_; }

 private:
  // Returns nil if the request fails.
  protocol::Reply Ask(std::initializer_list<std::string_view> request);

  Client& client_;
  FleetLeaders leaders_;
  int database_;
  std::optional<Failure> failure_;
  bool is_refused_ = false;
  int pages_left_;  // of the scans for the queues of owners
  std::map<std::string, LockView> locks_;
  std::map<std::string, std::vector<PlaceView>> queues_;
  std::map<std::string, std::vector<std::string>> queues_of_;
};

// What blocks a request that was denied, in the database of the settings.
WaitChain FindBlockers(const WaitingRequest& request, Client& client, const Settings& settings,
                       const Login& login);

}  // namespace fairlock::cli
