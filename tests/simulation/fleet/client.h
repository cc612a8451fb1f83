// A client of the fleet: it asks the node that it believes to be the leader, retries at others, and
// follows redirects.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/fleet/ledger.h"
#include "tests/simulation/fleet/link.h"
#include "tests/simulation/fleet/request.h"
#include "tests/simulation/random.h"

namespace fairlock::fleet {

struct ClientOptions {
  int owner = 0;
  int owners = 0;
  int keys = 0;
  int nodes = 0;
  int partitions = 1;
  TimeUs lease = 0;       // the lease of each of its locks
  TimeUs think = 0;       // the maximum pause between two requests
  bool notifies = false;  // whether some of its requests have NOTIFY
};

// What a client needs from its surroundings.
struct ClientWorld {
  Ledger& ledger;
  LinkNetwork& network;
  // Opens a connection to a node; null if it is refused.
  std::function<std::shared_ptr<Link>(int node)> connect;
  // Whether the client's keepalive would find that the other end of the link is gone or hangs.
  std::function<bool(const Link& link)> is_silent;
  std::function<std::uint64_t()> next_number;
  // Adds a line to the history.
  std::function<void(const Request& request, const std::string& text)> tell;
};

// It has one request in flight at a time. Its first event starts it, and it never ends.
class Client {
 public:
  Client(const ClientOptions& options, ClientWorld& world, std::uint64_t seed);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Begin() { Rest(options_.think); }

 private:
  void Rest(TimeUs at_most);
  void Act();
  std::shared_ptr<Request> Choose();
  void ChooseLock(Request& request);
  void ChooseRead(Request& request);
  void Ask(std::shared_ptr<Request> request);
  bool Connect();
  bool IsRedirected(const Request& request, const Reply& reply);
  void GoTo(int partition);
  void Watch();
  void TakeReply(const Reply& reply);
  void Follow(const Request& request, const Reply& reply);
  void LoseLink(bool by_itself, const std::string& why);
  void TryNextNode() { node() = (node() + 1) % options_.nodes; }
  // The node that it believes to lead the partition of the next request.
  int& node() { return nodes_[static_cast<std::size_t>(partition_)]; }
  bool Percent(std::uint64_t share) { return random_.Below(100) < share; }
  int Any(int count) { return static_cast<int>(random_.Below(static_cast<std::uint64_t>(count))); }

  const ClientOptions options_;
  ClientWorld& world_;
  simulation::Random random_;
  std::vector<int> nodes_;  // the believed leader of each partition
  int partition_ = 0;       // the partition of the next request
  std::shared_ptr<Link> link_;
  int linked_node_ = 0;
  std::shared_ptr<Request> redirected_;    // must be asked again elsewhere; null if there is none
  int redirects_ = 0;                      // how many there were in a row
  std::shared_ptr<Request> asked_;         // in flight; null if there is none
  std::shared_ptr<Request> to_ask_again_;  // a LOCK whose outcome is unknown; null if there is none
  std::map<int, Token> holds_;             // the tokens by key, as far as the client knows
  std::uint64_t turn_ = 0;  // identifies the request, so that timers of earlier requests do nothing
};

}  // namespace fairlock::fleet
