// Figures of the whole server, minute by minute, and all figures that the HTTP code stores itself.
#pragma once

#include <cstdint>
#include <vector>

#include "server/command/server_parts.h"
#include "server/http/shared_answers.h"

namespace fairlock::http {

// Counts since the start, sampled at one moment.
struct Moment {
  engine::TimeMs at = 0;
  std::uint64_t requests = 0;
  std::uint64_t granted = 0;
  std::uint64_t granted_after_wait = 0;
  std::uint64_t denied = 0;
  std::uint64_t released = 0;
  std::uint64_t expired = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t broken = 0;
  // This and the following members are not counts since the start, but the numbers at that moment.
  std::uint64_t waiting = 0;
  std::uint64_t held = 0;
  std::uint64_t connections = 0;
};

Moment MomentOf(command::ServerParts& server, engine::TimeMs now);

// One sample at the end of each of the last 1440 minutes (24 hours). Loop-confined.
class MinuteFigures {
 public:
  static constexpr std::size_t kMinutesMax = 24 * 60;

  // Called at the start, and then at the end of each minute.
  void Note(const Moment& moment);
  // Returns the newest `minutes` samples and the one before them, oldest first.
  std::vector<Moment> Newest(std::size_t minutes) const;

 private:
  std::vector<Moment> moments_;  // a ring of kMinutesMax + 1
  std::size_t next_ = 0;
};

// The figures that the HTTP code stores itself. Loop-confined.
struct Figures {
  MinuteFigures minutes;
  SharedAnswers shared;
};

}  // namespace fairlock::http
