#include "server/command/auth/sessions.h"

namespace fairlock::command {

void Sessions::LogIn(Client& client, const access::User& user) {
  client.rights.LogIn(user);
  newcomers_.Remove(client);
  client.profile.user = user.name;
  engine_.clients().SetUser(client.client, user.name);
}

bool Sessions::LogInAs(Client& client, std::string_view name) {
  const access::User* user = access_.users().Find(name);
  if (user == nullptr || !user->is_on) return false;
  LogIn(client, *user);
  return true;
}

void Sessions::LogOut(Client& client) {
  if (const access::User* newcomer = access_.NewcomersUser()) return LogIn(client, *newcomer);
  client.rights.LogOut();
  client.profile.user = access::kDefaultUser;
  newcomers_.Add(client, client.profile.active_at);
  engine_.clients().SetUser(client.client, client.profile.user);
}

void Sessions::Deauthenticate(Client& client) {
  client.rights.LogOut();
  client.transport.CloseNow();
}

}  // namespace fairlock::command
