#include "server/sentinel/leader_watch.h"

#include <utility>

namespace fairlock::sentinel {

namespace {

std::string Words(const std::string& host, std::uint16_t port) {
  return host + " " + std::to_string(port);
}

}  // namespace

MasterView LeaderWatch::View() const {
  MasterView view{.fleet = fleet_.Report(), .host = last_host_, .port = last_port_};
  if (view.fleet.leader.empty()) return view;
  view.host = view.fleet.leader_host;
  view.port = view.fleet.leader_port;
  view.is_down = view.fleet.is_unsure;
  return view;
}

std::vector<Message> LeaderWatch::Look() {
  std::vector<Message> messages;
  MasterView view = View();
  const std::string& name = view.fleet.fleet;
  const std::string master = name + " " + Words(view.host, view.port);
  const bool is_known = !last_host_.empty();
  const bool has_moved = is_known && (view.host != last_host_ || view.port != last_port_);
  if (has_moved) {
    const std::string last = Words(last_host_, last_port_);
    messages.push_back({"+switch-master", name + " " + last + " " + Words(view.host, view.port)});
    messages.push_back({"+slave", "slave " + last_host_ + ":" + std::to_string(last_port_) + " " +
                                      last + " @ " + master});
  }
  if (is_known && view.is_down && !was_down_) {
    messages.push_back({"+odown", "master " + master + " #quorum 1/1"});
  }
  if (is_known && !view.is_down && was_down_ && !has_moved) {
    messages.push_back({"-odown", "master " + master});
  }
  last_host_ = std::move(view.host);
  last_port_ = view.port;
  was_down_ = view.is_down;
  return messages;
}

}  // namespace fairlock::sentinel
