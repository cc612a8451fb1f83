#include "tests/simulation/fleet/listener.h"

#include <utility>

namespace fairlock::fleet {

namespace {

constexpr TimeUs kStay = 4 * kSecond;
constexpr TimeUs kAway = 500 * kMs;

}  // namespace

void Listener::Rest(TimeUs at_most) {
  Time().After(random_.Between(kMs, at_most), [this, turn = ++turn_] {
    if (turn == turn_) Act();
  });
}

void Listener::Act() {
  if (link_) {
    world_.network.CloseAtClient(std::exchange(link_, nullptr));
    return Rest(kAway);
  }
  const auto node = static_cast<int>(random_.Below(static_cast<std::uint64_t>(nodes_)));
  link_ = world_.connect(node);
  if (!link_) return Rest(kAway);
  Subscribe();
  Rest(kStay);
}

void Listener::Subscribe() {
  auto request = std::make_shared<Request>();
  request->command = Command::kSubscribe;
  request->key = -1;
  request->number = world_.next_number();
  request->sent = Time().now();
  link_->on_reply = [this, request](const Reply& reply) {
    world_.tell(*request, "hears " + TextOf(reply));
  };
  link_->on_close = [this] {
    link_ = nullptr;
    Rest(kAway);
  };
  world_.network.SendRequest(link_, request);
}

}  // namespace fairlock::fleet
