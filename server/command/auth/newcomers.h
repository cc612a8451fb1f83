// The connections that must log in and have not yet done so.
#pragma once

#include <cstddef>
#include <list>
#include <unordered_map>

#include "server/engine/api/types.h"

namespace fairlock::command {

class Client;
class CommandLog;
struct Statistics;

struct NewcomerLimits {
  engine::DurationMs time_ms_max = 0;  // 0: no limit
  std::size_t count_max = 0;           // 0: no limit
};

// Closes clients that do not log in within the time limit, after sending an error that says so. If
// there are more such clients than the limit allows, the oldest is closed, so that a peer that only
// holds connections open cannot keep out clients that log in at once. A client whose password is
// being compared is not closed. Loop-confined.
class Newcomers {
 public:
  Newcomers(Statistics& statistics, CommandLog& log) : statistics_(statistics), log_(log) {}

  void set_limits(const NewcomerLimits& limits) { limits_ = limits; }

  // Does nothing if the client is already in the list.
  void Add(Client& client, engine::TimeMs now);
  // Does nothing if the client is not in the list.
  void Remove(Client& client);
  std::size_t size() const { return clients_.size(); }

  // When CloseDue must be called next; engine::kNever: not until another client is added.
  engine::TimeMs NextDeadline() const;
  void CloseDue(engine::TimeMs now);
  // Closes the oldest because another connection needs its place. False: there is none to close.
  bool GiveWay(engine::TimeMs now);

 private:
  struct Newcomer {
    Client* client;
    engine::TimeMs since;
  };
  using List = std::list<Newcomer>;

  // Whether the limit is exceeded and at least one client has no password comparison running.
  bool IsOneToClose() const { return !are_all_compared_ && AreTooMany(); }
  bool AreTooMany() const { return limits_.count_max != 0 && size() > limits_.count_max; }
  void CloseSlow(engine::TimeMs now);
  void CloseOldest(engine::TimeMs now);

  Statistics& statistics_;
  CommandLog& log_;
  NewcomerLimits limits_;
  List clients_;  // ordered by `since`
  std::unordered_map<const Client*, List::iterator> places_;
  // Set when CloseOldest has found that every client has a password comparison running, until the
  // list changes.
  bool are_all_compared_ = false;
};

}  // namespace fairlock::command
