// The loop: one thread that owns the state and works in turns.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "server/command/server_parts.h"
#include "server/net/loop/request_scheduler.h"
#include "server/net/loop/turn_journal.h"
#include "server/net/loop/turn_wait.h"
#include "server/net/net_events.h"
#include "server/net/resp/resp_connections.h"
#include "server/net/sockets/connection_sink.h"
#include "server/net/sockets/listeners.h"
#include "server/net/sockets/listening_socket.h"
#include "server/net/sockets/socket_options.h"
#include "server/net/turn/turn.h"

namespace fairlock::net {

struct LoopOptions {
  TurnLimits limits;
  SocketOptions sockets;
  std::size_t connections_max = 10'000;
};

// A turn, in this order:
//  1. Wait until something is ready or due; receive bytes from each ready connection that is within
//     its fair share, then from some of the deferred connections.
//  2. Read the clock once, after the last read, so that no request is judged by a time before its
//     arrival.
//  3. Release the replies whose batches the journal has completed in the meantime.
//  4. Close connections whose client has disconnected while a request waits. This happens before
//     any decision, so that no lock is granted to a client that is known to be dead.
//  5. Expire what is due.
//  6. Execute the requests of light connections, then those of deferred ones. If scripts wait for
//     their turn, send the replies, then run one or a few. Then run the tasks.
//  7. Hand the changes to the journal. Then send the output that need not wait for the journal,
//     with one write per connection, after all decisions of this turn. Destroy closed connections.
//  8. Accept new connections. This comes last, because closed connections have then made room.
// Each step is bounded; what remains is done in the next turn, which then begins without a wait.
//
// Except for the constructor and Wake, only the thread that calls Run may call the functions.
class TurnLoop {
 public:
  // `server` and `events` must outlive it.
  TurnLoop(command::ServerParts& server, NetEvents& events, const LoopOptions& options);
  TurnLoop(const TurnLoop&) = delete;
  TurnLoop& operator=(const TurnLoop&) = delete;
  ~TurnLoop();

  // Takes ownership of the sockets. Their connections go to `sink`, which must outlive Run; null:
  // they are RESP connections.
  void StartListening(std::vector<ListeningSocket> sockets, ConnectionSink* sink = nullptr);
  // The connections of the listening sockets that went to `from` go to `to` from now on; null: they
  // are RESP connections.
  void ReplaceSink(const ConnectionSink& from, ConnectionSink* to = nullptr) {
    listeners_.ReplaceSink(from, to == nullptr ? connections_ : *to);
  }
  // Runs until a stop is requested and all connections are closed.
  void Run();
  // Call this from within Run, or before it. Refuses new connections, writes the state for the last
  // time, and freezes the engine. Connections whose request waits are closed without a reply, all
  // others once their output is sent.
  void RequestStop();
  bool is_stop_asked() const { return stop_ != Stop::kNone; }
  // Closes all RESP connections soon. Replies that were not sent are dropped. New connections are
  // accepted.
  void CloseConnections(CloseReason reason);

  // From now on, the decisions of the engine are persisted, and replies wait for that. `on_change`
  // is called when the log becomes ready, fails, or runs out of disk space, and when it has enough
  // space again. Null: nothing is persisted; REQUIRES that no connection's output waits.
  void SetStateLog(persist::StateLog* state_log, std::function<void()> on_change) {
    journal_.Set(state_log, std::move(on_change));
  }
  // Ends the wait of a turn. Thread-safe.
  void Wake() { wait_.Wake(); }

  // For other users of the loop's thread, such as signals.
  boost::asio::io_context& io_context() { return wait_.io_context(); }
  // For tasks, which run in its turns.
  Turn& turn() { return turn_; }
  RespConnections& connections() { return connections_; }

 private:
  enum class Stop : std::uint8_t { kNone, kAsked, kBegun };

  void RunTurn();
  // Waits and receives. False: the journal is too far behind for any request to be executed.
  bool ReceiveRequests();
  void ExecuteRequests();
  engine::DurationMs WaitMsMax() const;
  void ExpireDue();
  void RunTasks();
  void CloseIfAsked();
  void StopIfAsked();
  void BeginStop();

  Turn turn_;
  TurnWait wait_;
  RespConnections connections_;
  RequestScheduler requests_;
  RequestDeadlines deadlines_;
  TurnJournal journal_;
  Listeners listeners_;
  engine::TimeMs stop_until_ = engine::kNever;
  Stop stop_ = Stop::kNone;
  bool is_more_due_ = false;
};

}  // namespace fairlock::net
