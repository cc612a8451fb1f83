// Changes the users, and applies the change to the clients that are connected.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/access/user.h"
#include "server/access/user_table.h"
#include "server/engine/api/inspection.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

class AccessControl;
class Client;
class ClientRegistry;
class CommandTable;
class EffectDelivery;
class Locks;
class Sessions;

// Connections go on as the users of their names. A connection is closed if there is no such user,
// if the user is off, or if the client listens to something that the user may not hear. Places in
// queues that a user may no longer ask for end, and their requests are answered -NOPERM.
//
// Looks at each connection and at each place at once: an operator asks for it, and nobody may be
// granted meanwhile what it may not have. Loop-confined.
class AccessReview {
 public:
  AccessReview(AccessControl& control, Sessions& sessions, const ClientRegistry& clients,
               const CommandTable& table, Locks& locks, EffectDelivery& delivery);

  // From now on these are the users.
  void SetUsers(std::shared_ptr<const access::UserTable> users, engine::TimeMs now);

 private:
  struct Place {
    std::uint8_t db;
    std::string key;
    std::string owner;
    std::string denial;
  };

  void ReviewAll(engine::TimeMs now);
  void ReviewClient(Client& client, engine::TimeMs now);
  void ReviewWatcher(Client& client, engine::TimeMs now);
  bool ListensTooMuch(const Client& client) const;
  void ReviewQueue(const engine::KeyName& key, engine::TimeMs now, std::vector<Place>& ended);
  std::string JudgePlace(const engine::KeyName& key, const engine::PlaceInfo& place) const;
  std::string JudgeLock(const access::User& user, const engine::KeyName& key,
                        const engine::PlaceInfo& place) const;
  std::string JudgeSetNew(const access::User& user, const engine::KeyName& key,
                          const engine::PlaceInfo& place) const;
  void EndPlace(const Place& place, engine::TimeMs now);

  AccessControl& control_;
  Sessions& sessions_;
  const ClientRegistry& clients_;
  const CommandTable& table_;
  Locks& locks_;
  EffectDelivery& delivery_;
};

}  // namespace fairlock::command
