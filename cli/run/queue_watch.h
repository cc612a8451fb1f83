// Says how far a waiting request has come.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "cli/arguments/command.h"
#include "cli/base/clock.h"
#include "cli/connection/wire.h"
#include "cli/run/run_options.h"
#include "cli/run/run_report.h"

namespace fairlock::cli {

// On a terminal it rewrites one line of standard error as the place and the holders change;
// elsewhere it writes a line now and then. It asks on a connection of its own, since the one that
// waits can ask nothing; what goes wrong with that connection does not matter. A request for
// several keys is shown by the key that it is furthest from.
class QueueWatch {
 public:
  QueueWatch(const Context& context, const RunOptions& options, const RunReport& report,
             TimeMs now);
  ~QueueWatch() { Erase(); }
  QueueWatch(const QueueWatch&) = delete;
  QueueWatch& operator=(const QueueWatch&) = delete;

  pollfd Interest() const { return wire_.Interest(); }
  TimeMs WakeAt() const;
  void Advance(TimeMs now);

 private:
  enum class Request : std::uint8_t { kPosition, kLockInfo };
  struct Sent {
    Request request;
    std::size_t key;  // which of the keys
  };
  struct Finding {
    std::int64_t position = 0;  // 0: unknown
    std::string holders;        // " held by ..."; empty: unknown
  };

  void Ask(TimeMs now);
  void Take(const protocol::Reply& reply);
  std::string HoldersText(const protocol::Reply& info) const;
  std::string Text(TimeMs now) const;
  void Show(TimeMs now);
  void Erase();

  const Context& context_;
  const RunReport& report_;
  bool rewrites_line_;
  Wire wire_;
  std::vector<std::string> keys_;
  std::string owner_;
  DurationMs every_ms_;
  TimeMs begun_at_;
  TimeMs ask_at_;
  std::deque<Sent> sent_;          // not answered yet
  std::vector<Finding> findings_;  // of each key
  bool has_shown_ = false;
};

}  // namespace fairlock::cli
