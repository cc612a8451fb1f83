#include "server/http/minute_figures.h"

#include <algorithm>

namespace fairlock::http {

Moment MomentOf(command::ServerParts& server, engine::TimeMs now) {
  const engine::EngineCounts& locks = server.locks.engine().counts();
  return {.at = now,
          .requests = server.statistics.counters.commands_processed,
          .granted = locks.granted,
          .granted_after_wait = locks.granted_after_wait,
          .denied = locks.denied,
          .released = locks.released,
          .expired = locks.expired,
          .timed_out = locks.timed_out,
          .broken = locks.broken + server.statistics.broken_in_values,
          .waiting = locks.places - locks.skipped,
          .held = locks.holds,
          .connections = server.clients.size() - server.statistics.gauges.http_clients};
}

void MinuteFigures::Note(const Moment& moment) {
  if (moments_.size() <= kMinutesMax) {
    moments_.push_back(moment);
    return;
  }
  moments_[next_] = moment;
  next_ = (next_ + 1) % moments_.size();
}

std::vector<Moment> MinuteFigures::Newest(std::size_t minutes) const {
  const std::size_t count = std::min(minutes + 1, moments_.size());
  std::vector<Moment> newest;
  newest.reserve(count + 1);
  for (std::size_t i = moments_.size() - count; i < moments_.size(); ++i) {
    newest.push_back(moments_[(next_ + i) % moments_.size()]);
  }
  return newest;
}

}  // namespace fairlock::http
