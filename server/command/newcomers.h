// The connections that have not logged in, where a password is needed.
#pragma once

#include <cstddef>
#include <list>
#include <unordered_map>

#include "server/engine/api/types.h"

namespace fairlock::command {

class Client;
class Dispatcher;

struct NewcomerLimits {
  engine::DurationMs time_ms_max = 0;  // 0: as long as they like
  std::size_t count_max = 0;           // 0: any number
};

// Who takes too long is told so and closed; of too many the one who has taken longest is, so that
// who holds connections open keeps nobody out who logs in at once. Whose password is being compared
// is not closed. Loop-confined.
class Newcomers {
 public:
  explicit Newcomers(Dispatcher& dispatcher) : dispatcher_(dispatcher) {}

  void set_limits(const NewcomerLimits& limits) { limits_ = limits; }

  // Without effect if it is there already.
  void Add(Client& client, engine::TimeMs now);
  // Without effect if it is not there.
  void Remove(Client& client);
  std::size_t size() const { return clients_.size(); }

  // When CloseDue is to be called next; engine::kNever: as long as nobody comes.
  engine::TimeMs NextDeadline() const;
  void CloseDue(engine::TimeMs now);

 private:
  struct Newcomer {
    Client* client;
    engine::TimeMs since;
  };
  using List = std::list<Newcomer>;

  // And not all of those are being compared.
  bool IsOneToClose() const { return !are_all_compared_ && AreTooMany(); }
  bool AreTooMany() const { return limits_.count_max != 0 && size() > limits_.count_max; }
  void CloseSlow(engine::TimeMs now);
  void CloseOldest(engine::TimeMs now);

  Dispatcher& dispatcher_;
  NewcomerLimits limits_;
  List clients_;  // by `since`
  std::unordered_map<const Client*, List::iterator> places_;
  bool are_all_compared_ = false;  // found when they were too many; nobody has come or gone since
};

}  // namespace fairlock::command
