// The state that the connections of one loop share during a turn.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "server/command/client/address_counts.h"
#include "server/command/server_parts.h"
#include "server/net/net_events.h"
#include "server/net/turn/readiness_set.h"
#include "server/net/turn/script_queue.h"
#include "server/net/turn/turn_arena.h"
#include "server/persist/state_log.h"

namespace fairlock::net {

class RespConnection;

// Work other than RESP requests that runs in the turns of the loop. Loop-confined.
class TurnTask {
 public:
  // Called once for each entry in Turn::tasks. The task may add itself again, for the next turn.
  virtual void TakeTurn(engine::TimeMs now) = 0;

 protected:
  ~TurnTask() = default;
};

// Bounds on the work of a turn, and on the memory of connections.
struct TurnLimits {
  std::size_t handlers_max = 256;  // readiness events per turn
  std::size_t accepts_max = 8;     // new connections per turn and listening socket
  std::size_t closes_max = 8;      // per turn: destroyed connections; also, refused late requests
  std::size_t timers_max = 2000;   // due timers per turn
  std::size_t requests_max = 256;  // requests of one connection per turn
  // Limits in bytes per turn. The first is on what is received from one light connection; the
  // second on what is received from all light connections, and executed for them, before the
  // deferred ones are served; the third on what is executed for the deferred ones.
  std::size_t received_bytes_max = 8 * 1024;
  std::size_t light_bytes_max = 32 * 1024;
  std::size_t deferred_bytes_max = 16 * 1024;
  // A connection with more unsent output is neither read nor executed.
  std::size_t output_pause_bytes = 256 * 1024;
  // A connection with more unsent output is closed.
  std::size_t output_bytes_max = 16 * 1024 * 1024;
  // If the unread replies of all connections take more memory than this, the connections with the
  // most are closed; 0: no bound.
  std::size_t all_output_bytes_max = 256 * 1024 * 1024;
  // The same for input that cannot be executed yet: incomplete requests, and requests after one
  // that waits.
  std::size_t all_input_bytes_max = 256 * 1024 * 1024;
  // The time from the first byte of a request to its last; 0: no limit.
  engine::DurationMs request_deadline_ms = 30'000;
  // A connection that sends more than this after a request that waits is closed: if the rest were
  // left unread, the end of the connection would not be seen.
  std::size_t waiting_input_bytes_max = 1024 * 1024;
  // The time that a closing connection has to receive its last replies.
  engine::DurationMs linger_ms = 10'000;
  // The same time when the server stops.
  engine::DurationMs stop_ms = 2'000;
};

// Owned by the TurnLoop. A connection is in each list at most once, and in only one of to_execute,
// deferred and scripts. Loop-confined.
//
// A light connection is read and executed in the turn in which it is ready (to_execute), or in one
// of the next turns if there are too many. A connection that recently asked for more than its fair
// share is deferred: each turn serves some deferred connections, beginning at the front, and moves
// those with more to do to the end. So turns stay short, whatever deferred connections ask for.
struct Turn {
  Turn(command::ServerParts& the_server, NetEvents& the_events, const TurnLimits& the_limits)
      : server(the_server), events(the_events), limits(the_limits) {}

  command::ServerParts& server;
  NetEvents& events;
  TurnLimits limits;  // may be changed between turns
  // The time of this turn; it does not change between the turn's last read and its end.
  engine::TimeMs now = 0;
  ReadinessSet readiness;
  bool is_more_ready = false;  // a ready connection was not read, because the turn was full
  TurnArena arena;
  BufferPool buffers;
  command::AddressCounts addresses;  // count open connections, and handshakes that lead to one
  persist::StateLog* state_log = nullptr;  // null: nothing is persisted, and no reply is held back

  std::vector<RespConnection*> to_execute;  // bytes have arrived
  std::vector<RespConnection*> to_finish;   // executed something, or have output
  std::deque<RespConnection*> deferred;     // bytes may have arrived, or requests remain
  ScriptQueue scripts;                      // requests remain, of which the first runs a script
  std::vector<RespConnection*> to_watch;    // open but not read: polled once a second
  std::vector<RespConnection*> held;        // their output waits for the journal
  std::deque<RespConnection*> closed;       // a few are destroyed per turn
  std::optional<CloseReason> close_asked;   // all connections are to be closed
  PartialRequests partial_requests;         // the oldest first
  std::vector<TurnTask*> tasks;
  std::vector<TurnTask*> held_tasks;  // become tasks when the journal has completed a batch

  // Removes a task that is about to be destroyed from all lists.
  void Drop(TurnTask* task) {
    std::erase(tasks, task);
    std::erase(held_tasks, task);
  }
};

}  // namespace fairlock::net
