// Logs clients in and out.
#pragma once

#include <string_view>

#include "server/access/user.h"
#include "server/command/auth/access_control.h"
#include "server/command/auth/newcomers.h"
#include "server/command/client/client.h"
#include "server/engine/lock_engine.h"

namespace fairlock::command {

// Loop-confined.
class Sessions {
 public:
  Sessions(const AccessControl& access, Newcomers& newcomers, engine::LockEngine& engine)
      : access_(access), newcomers_(newcomers), engine_(engine) {}

  // The user must outlive the client's use of it.
  void LogIn(Client& client, const access::User& user);
  // Logs in a client that has proved its identity by other means, such as a certificate. Returns
  // false if there is no such user, or if the user is off.
  [[nodiscard]] bool LogInAs(Client& client, std::string_view name);
  // Gives the client the rights of a new connection.
  void LogOut(Client& client);
  // Deauthenticates the client. Its connection closes in this turn.
  static void Deauthenticate(Client& client);

 private:
  const AccessControl& access_;
  Newcomers& newcomers_;
  engine::LockEngine& engine_;
};

}  // namespace fairlock::command
