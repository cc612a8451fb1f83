// Changes the users, and applies the change to connected clients.
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
class ListDelivery;
class Locks;
class Sessions;

// A connected client continues as the user of the same name. Its connection is closed if that user
// no longer exists or is off, or if the client is subscribed to something that the user may not
// hear. Waits that the user is no longer permitted to request end with -NOPERM.
//
// Reviews every connection and every place immediately, because after the change nobody may be
// granted a lock that the new rules deny. Changes are rare, because an operator makes them.
// Loop-confined.
class AccessReview {
 public:
  AccessReview(AccessControl& control, Sessions& sessions, const ClientRegistry& clients,
               const CommandTable& table, Locks& locks, EffectDelivery& delivery,
               ListDelivery& lists);

  // Replaces the users.
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
  void ReviewListWait(Client& client);
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
  ListDelivery& lists_;
};

}  // namespace fairlock::command
