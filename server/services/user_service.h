// The users of the server: read from the configuration, and their passwords compared.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "server/command/environment/environment.h"
#include "server/command/server_parts.h"
#include "server/config/config.h"
#include "server/logging/logging.h"
#include "server/net/listening_socket.h"
#include "server/net/turn_loop.h"

namespace fairlock::server {

// What is wrong with the users that the options give, or with letting so many in; empty: nothing.
std::string CheckUsers(const Config& config);

// Loop-confined; passwords are compared by a thread of its own.
class UserService final : public command::UserDirectory {
 public:
  // All must outlive it; `config` is the configuration in force.
  UserService(command::ServerParts& parts, net::TurnLoop& loop, Log& log, const Config& config);
  UserService(const UserService&) = delete;
  UserService& operator=(const UserService&) = delete;
  // Waits for the password that is being compared.
  ~UserService();

  // Reads the users and puts them in force. Empty: done; else nothing has changed.
  [[nodiscard]] std::string Load(const Config& config);
  // For ACL LOAD: the same, but there has to be a file.
  std::string ReloadUsers() override;
  // The same, if the options differ from those in force, or the file is to be read anew.
  [[nodiscard]] std::string Apply(const Config& config, bool is_rereading);
  // These sockets are open. Empty, or why they must not be.
  [[nodiscard]] std::string GuardDoor(std::span<const net::ListeningSocket> sockets,
                                      const Config& config);

  bool StartPasswordCheck(command::PasswordQuestion question, std::uint64_t comparison_id) override;

 private:
  void EndCheck(std::uint64_t comparison_id, std::optional<std::size_t> match);

  command::ServerParts& parts_;
  net::TurnLoop& loop_;
  Log& log_;
  const Config& config_;
  std::string requirepass_;
  bool may_be_open_ = false;
  bool is_reachable_ = false;  // by other machines
  std::size_t checks_ = 0;     // that are under way
  std::optional<boost::asio::thread_pool> checker_;
};

}  // namespace fairlock::server
