// What follows when the permissions of users have changed.
#pragma once

#include <string>
#include <vector>

#include "server/access/user.h"
#include "server/engine/api/inspection.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

class Client;
class Dispatcher;

// Made for one review. Takes a step for each connection and each place in line, at once: an
// operator asks for it, and nobody may be granted meanwhile what it may not have.
class AccessReview {
 public:
  AccessReview(Dispatcher& dispatcher, engine::TimeMs now);

  void ReviewAll();

 private:
  struct Place {
    std::uint8_t db;
    std::string key;
    std::string owner;
    std::string denial;
  };

  void ReviewClient(Client& client);
  void ReviewWatcher(Client& client);
  bool ListensTooMuch(const Client& client) const;
  void ReviewLine(const engine::KeyName& key, std::vector<Place>& ended);
  std::string JudgePlace(const engine::KeyName& key, const engine::PlaceInfo& place) const;
  std::string JudgeLock(const access::User& user, const engine::KeyName& key,
                        const engine::PlaceInfo& place) const;
  std::string JudgeSetNew(const access::User& user, const engine::KeyName& key,
                          const engine::PlaceInfo& place) const;
  void EndPlace(const Place& place);

  Dispatcher& dispatcher_;
  const engine::TimeMs now_;
};

}  // namespace fairlock::command
