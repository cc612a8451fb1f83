// The leaders of all partitions of a fleet, for requests that concern every key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/base/result.h"
#include "cli/connection/client.h"
#include "cli/connection/settings.h"
#include "protocol/reply.h"

namespace fairlock::cli {

// Where CLUSTER STATUS says that the leader of a partition is.
struct LeaderAddress {
  std::string node;  // its name; empty if no node leads the partition
  ServerAddress address;

  friend bool operator==(const LeaderAddress&, const LeaderAddress&) = default;
};

// Returns one row per partition, in their order.
std::vector<LeaderAddress> LeadersOf(const protocol::Reply& status, bool is_tls);

// Where clients that use TLS, or do not, reach a node that CLUSTER STATUS lists. The host is empty
// if the node announces no address.
ServerAddress AddressOf(const protocol::Reply& node, bool is_tls);

// Whether other nodes of a fleet are reached by TLS.
inline bool UsesTls(const Settings& settings) { return settings.is_tls && settings.socket.empty(); }

// The server that the settings name, or, if that is a node of a fleet of several partitions, one
// client for each leader. The reply to the log-in shows whether it is such a node, so no request is
// needed for a single server, or for a fleet of one partition in the dialect `plain`.
//
// A leader that fails is remembered and left out from then on. Once every leader has failed, the
// whole operation has failed.
class FleetLeaders {
 public:
  struct Leader {
    std::string node;  // empty for a single server, and if no node leads the partition
    Client* client;    // null if no node leads the partition
    std::optional<Failure> failure;
  };
  struct LeaderReply {
    std::size_t partition;
    protocol::Reply reply;
  };

  // Uses only the server of `entry`, which must outlive this object.
  explicit FleetLeaders(Client& entry) : leaders_{{.node = {}, .client = &entry, .failure = {}}} {}

  // Fails if `entry` cannot connect, or if no partition has a leader. `entry` must outlive the
  // returned object.
  static Result<FleetLeaders> Find(Client& entry, const Settings& settings, const Login& login);

  // Uses what a node has replied to CLUSTER STATUS. REQUIRES: there are several partitions.
  static FleetLeaders Of(const protocol::Reply& status, const Settings& settings,
                         const Login& login);

  // Whether there are several partitions. The index of a leader is then that of its partition.
  bool is_several() const { return leaders_.size() > 1; }
  std::size_t size() const { return leaders_.size(); }
  const Leader& leader(std::size_t partition) const { return leaders_[partition]; }

  void Fail(std::size_t partition, Failure failure);
  // The first failure, if every leader has failed.
  std::optional<Failure> TotalFailure() const;
  // The first failure, whether or not other leaders have failed.
  std::optional<Failure> FirstFailure() const;
  // One text for each partition of several that has failed: which one, and why.
  std::vector<std::string> FailureTexts() const;

  // Sends the request to each leader that has not failed; returns the replies, in the order of the
  // partitions. Fails if no leader is left.
  Result<std::vector<LeaderReply>> AskAll(std::span<const std::string_view> request);

 private:
  FleetLeaders() = default;

  // Fails if the node does not lead any more: it would answer for itself.
  Result<protocol::Reply> AskLeader(Client& client, std::span<const std::string_view> request);

  // "partition 2 (n5 at 10.0.0.5:3247)".
  std::string NameOf(std::size_t partition) const;

  std::vector<Leader> leaders_;
  // The clients of the leaders, unless there is only the server of `entry`.
  std::deque<Client> clients_;
};

}  // namespace fairlock::cli
