// Reads the users from the configuration and verifies passwords.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "contracts/loop_confined.h"
#include "server/command/environment/environment.h"
#include "server/command/server_parts.h"
#include "server/config/config.h"
#include "server/logging/logging.h"
#include "server/net/loop/loop_poster.h"
#include "server/net/loop/turn_loop.h"
#include "server/net/sockets/listening_socket.h"

namespace fairlock::server {

// Checks the configured users, and that the server is not open to other machines by mistake.
// Returns the error, or an empty string.
std::string CheckUsers(const Config& config);

// Loop-confined; a dedicated thread verifies passwords.
class UserService final : public command::UserDirectory, private contracts::LoopConfined {
 public:
  // All arguments must outlive this object; `config` is the configuration in force.
  UserService(command::ServerParts& parts, net::TurnLoop& loop, Log& log, const Config& config);
  UserService(const UserService&) = delete;
  UserService& operator=(const UserService&) = delete;
  // Waits for the password check in progress.
  ~UserService();

  // Reads the users and applies them. Returns the error, after which nothing has changed.
  [[nodiscard]] std::string Load(const Config& config);
  // Does the same for ACL LOAD, but requires an ACL file.
  std::string ReloadUsers() override;
  // Loads the users if the options differ from those in force, or if `is_rereading`.
  [[nodiscard]] std::string Apply(const Config& config, bool is_rereading);
  // Checks the open sockets. Returns the reason why they must not be open, or an empty string.
  [[nodiscard]] std::string GuardDoor(std::span<const net::ListeningSocket> sockets,
                                      const Config& config);

  bool StartPasswordCheck(command::PasswordQuestion question, std::uint64_t comparison_id) override;

 private:
  void EndCheck(std::uint64_t comparison_id, std::optional<std::size_t> match);

  command::ServerParts& parts_;
  net::LoopPoster to_loop_;
  Log& log_;
  const Config& config_;
  std::string requirepass_;
  bool may_be_open_ = false;
  bool is_reachable_ = false;  // whether other machines can connect
  std::size_t checks_ = 0;     // password checks in progress
  std::optional<boost::asio::thread_pool> checker_;
};

}  // namespace fairlock::server
