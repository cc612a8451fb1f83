// A connection between a client and a run of a node.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tests/simulation/fleet/request.h"
#include "tests/simulation/fleet/virtual_time.h"
#include "tests/simulation/random.h"

namespace fairlock::fleet {

// Delivers in order and loses nothing, as TCP does, but either end may find the other one gone.
struct Link {
  // The client's end; both are null if the client has closed it.
  std::function<void(const Reply& reply)> on_reply;
  std::function<void()> on_close;

  // The server's end.
  std::function<void()> on_input;  // null if the server has closed its end
  std::string arrived;             // the kernel's buffer
  bool has_client_closed = false;
  std::shared_ptr<Request> request;  // the request that arrived last

  TimeUs to_server_at = 0;  // when the newest bytes arrive
  TimeUs to_client_at = 0;
};

// Delivers what is sent over links.
class LinkNetwork {
 public:
  explicit LinkNetwork(std::uint64_t seed) : random_(seed) {}

  void SendRequest(const std::shared_ptr<Link>& link, const std::shared_ptr<Request>& request);
  void CloseAtClient(const std::shared_ptr<Link>& link);
  void SendReply(const std::shared_ptr<Link>& link, const Reply& reply);
  void CloseAtServer(const std::shared_ptr<Link>& link);

 private:
  TimeUs Delay() {
    return random_.OneIn(20) ? random_.Between(1, 200 * kMs) : random_.Between(50, kMs);
  }
  void ToServer(const std::shared_ptr<Link>& link, std::function<void()> action);
  void ToClient(const std::shared_ptr<Link>& link, std::function<void()> action);

  simulation::Random random_;
};

}  // namespace fairlock::fleet
