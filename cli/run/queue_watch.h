// Reports the progress of a waiting request.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "cli/arguments/command.h"
#include "cli/base/clock.h"
#include "cli/connection/async_connection.h"
#include "cli/run/run_options.h"
#include "cli/run/run_report.h"

namespace fairlock::cli {

// On a terminal, it rewrites one line of standard error as the place and the holders change;
// elsewhere, it writes a line at intervals. It uses its own connection, because a waiting
// connection executes nothing else; errors of its connection are ignored. For several keys, it
// reports the key on which the place is furthest back, or of several such keys one that is held.
class QueueWatch {
 public:
  QueueWatch(const Context& context, const RunOptions& options, const RunReport& report,
             TimeMs now);
  ~QueueWatch() { Erase(); }
  QueueWatch(const QueueWatch&) = delete;
  QueueWatch& operator=(const QueueWatch&) = delete;

  pollfd Interest() const { return connection_.Interest(); }
  TimeMs WakeAt() const;
  void Advance(TimeMs now);

 private:
  enum class Request : std::uint8_t { kPosition, kLockInfo, kQueue };
  struct Sent {
    Request request;
    std::size_t key;  // index of the key
  };
  struct Finding {
    std::int64_t position = 0;  // 0 if unknown
    std::string holders;        // "; held by ..."; empty if nobody is known
    std::string ahead;          // "; 'a' is ahead"; empty if nobody is known
  };

  void Follow(const ServerAddress& leader, TimeMs now);
  void Ask(TimeMs now);
  void Take(const protocol::Reply& reply);
  std::string HoldersText(const protocol::Reply& info) const;
  std::string AheadText(const protocol::Reply& places) const;
  std::string Text(TimeMs now) const;
  void Show(TimeMs now);
  void Erase();

  const Context& context_;
  const RunReport& report_;
  bool rewrites_line_;
  AsyncConnection connection_;
  std::vector<std::string> keys_;
  std::string owner_;
  DurationMs every_ms_;
  TimeMs begun_at_;
  TimeMs send_at_;
  std::deque<Sent> sent_;          // requests in flight
  std::vector<Finding> findings_;  // one per key
  bool has_shown_ = false;
};

}  // namespace fairlock::cli
