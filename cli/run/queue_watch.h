// Reports the progress of a waiting request, and prints the messages of `run` itself.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments/command.h"
#include "cli/base/clock.h"
#include "cli/base/result.h"
#include "cli/connection/async_connection.h"
#include "cli/run/lock_session.h"

namespace fairlock::cli {

// Prints the messages of `run` itself on standard error; standard output belongs to the command.
class RunReport {
 public:
  RunReport(const Context& context, const RunOptions& options)
      : context_(context), options_(options) {}

  // Prints a sentence or, with --json, one object with the event's name.
  void Say(std::string_view event, const std::string& text) const;
  // With --json, prints an event with a number; otherwise nothing.
  void ReportNumber(std::string_view event, std::string_view field, std::int64_t number) const;
  // With --json, prints a failure and returns only its exit code; otherwise returns `outcome`
  // unchanged.
  Result<int> Conclude(Result<int> outcome) const;

 private:
  void Print(const boost::json::object& object) const;
  boost::json::object ObjectOf(std::string_view event) const;

  const Context& context_;
  const RunOptions& options_;
};

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
