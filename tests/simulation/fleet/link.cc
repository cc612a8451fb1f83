#include "tests/simulation/fleet/link.h"

#include <algorithm>
#include <utility>

namespace fairlock::fleet {

namespace {

void Drop(Request& request) {
  if (request.fate == Request::Fate::kUnderWay) request.fate = Request::Fate::kDropped;
}

}  // namespace

void LinkNetwork::ToServer(const std::shared_ptr<Link>& link, std::function<void()> action) {
  link->to_server_at = std::max(link->to_server_at, Time().now() + Delay());
  Time().At(link->to_server_at, std::move(action));
}

void LinkNetwork::ToClient(const std::shared_ptr<Link>& link, std::function<void()> action) {
  link->to_client_at = std::max(link->to_client_at, Time().now() + Delay());
  Time().At(link->to_client_at, std::move(action));
}

void LinkNetwork::SendRequest(const std::shared_ptr<Link>& link,
                              const std::shared_ptr<Request>& request) {
  ToServer(link, [link, request] {
    if (!link->on_input) return Drop(*request);
    link->request = request;
    link->arrived += TextOf(*request) + "\r\n";
    link->on_input();
  });
}

void LinkNetwork::CloseAtClient(const std::shared_ptr<Link>& link) {
  link->on_reply = nullptr;
  link->on_close = nullptr;
  ToServer(link, [link] {
    link->has_client_closed = true;
    if (link->on_input) link->on_input();
  });
}

void LinkNetwork::SendReply(const std::shared_ptr<Link>& link, const Reply& reply) {
  ToClient(link, [link, reply] {
    // Calls a copy, because the reply may make the client close the link.
    if (const auto on_reply = link->on_reply) on_reply(reply);
  });
}

void LinkNetwork::CloseAtServer(const std::shared_ptr<Link>& link) {
  if (!link->on_input) return;
  link->on_input = nullptr;
  if (link->request) Drop(*link->request);
  ToClient(link, [link] {
    if (const auto on_close = link->on_close) on_close();
  });
}

}  // namespace fairlock::fleet
