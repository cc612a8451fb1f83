// Tells the one at the terminal how far a waiting request has come.
#pragma once

#include <poll.h>

#include <string>

#include "cli/clock.h"
#include "cli/command.h"
#include "cli/wire.h"

namespace fairlock::cli {

// Asks on a connection of its own, since the one that waits can ask nothing; what goes wrong with
// it is no matter. Rewrites one line of standard error, and only on a terminal.
class LineWatch {
 public:
  LineWatch(const Context& context, std::string key, std::string owner, TimeMs now);
  ~LineWatch() { Erase(); }
  LineWatch(const LineWatch&) = delete;
  LineWatch& operator=(const LineWatch&) = delete;

  pollfd Interest() const { return wire_.Interest(); }
  TimeMs WakeAt() const;
  void Advance(TimeMs now);

 private:
  void Show(std::int64_t position, TimeMs now);
  void Erase();

  const Context& context_;
  Wire wire_;
  std::string key_;
  std::string owner_;
  TimeMs begun_at_;
  TimeMs ask_at_;
  bool has_shown_ = false;
};

}  // namespace fairlock::cli
