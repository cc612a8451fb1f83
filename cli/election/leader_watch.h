// Follows who holds the key of an election.
#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "cli/base/clock.h"
#include "cli/connection/async_connection.h"
#include "cli/connection/settings.h"

namespace fairlock::cli {

struct Leader {
  std::string owner;
  std::int64_t token = 0;

  friend bool operator==(const Leader&, const Leader&) = default;
};

// Asks for the holder every second, and whenever the channel of the key has a message. Uses a
// connection of its own; its errors are not reported, because it connects again and again.
//
// Never blocks: the owner polls Interest(), and calls Advance() when it is ready or at WakeAt().
class LeaderWatch {
 public:
  // `login.database` is the database of the key.
  LeaderWatch(const Settings& settings, const Login& login, std::string key);

  pollfd Interest() const { return connection_.Interest(); }
  TimeMs WakeAt() const;
  void Advance(TimeMs now);

  // Who led when the server was asked last. None if nobody did, or if there has been no reply yet.
  const std::optional<Leader>& leader() const { return leader_; }
  // When the newest reply arrived; 0 if there has been none.
  TimeMs heard_at() const { return heard_at_; }

 private:
  void Ask(TimeMs now);
  void Take(const protocol::Reply& reply, TimeMs now);

  const std::string key_;
  const std::string channel_;
  AsyncConnection connection_;
  std::size_t in_flight_ = 0;
  TimeMs ask_at_ = 0;
  TimeMs heard_at_ = 0;
  std::optional<Leader> leader_;
};

}  // namespace fairlock::cli
