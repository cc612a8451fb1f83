// The connections that have to log in and have not done so yet.
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

// Closes clients that have not logged in within the time limit, after an error that says so. Above
// the limit on their number it closes the oldest, so that a peer that only holds connections open
// cannot keep out clients that log in at once. A client whose password is being compared stays.
// Loop-confined.
class Newcomers {
 public:
  Newcomers(Statistics& statistics, CommandLog& log) : statistics_(statistics), log_(log) {}

  void set_limits(const NewcomerLimits& limits) { limits_ = limits; }

  // Without effect if the client is already in the list.
  void Add(Client& client, engine::TimeMs now);
  // Without effect if the client is not in the list.
  void Remove(Client& client);
  std::size_t size() const { return clients_.size(); }

  // When CloseDue is to be called next; engine::kNever: not before a client is added.
  engine::TimeMs NextDeadline() const;
  void CloseDue(engine::TimeMs now);

 private:
  struct Newcomer {
    Client* client;
    engine::TimeMs since;
  };
  using List = std::list<Newcomer>;

  // There are too many, and for at least one of them no password is being compared.
  bool IsOneToClose() const { return !are_all_compared_ && AreTooMany(); }
  bool AreTooMany() const { return limits_.count_max != 0 && size() > limits_.count_max; }
  void CloseSlow(engine::TimeMs now);
  void CloseOldest(engine::TimeMs now);

  Statistics& statistics_;
  CommandLog& log_;
  NewcomerLimits limits_;
  List clients_;  // by `since`
  std::unordered_map<const Client*, List::iterator> places_;
  // CloseOldest found that the passwords of all of them are being compared, and the list has not
  // changed since.
  bool are_all_compared_ = false;
};

}  // namespace fairlock::command
