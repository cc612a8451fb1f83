// What the connections of one loop share during a turn.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "server/command/client/address_counts.h"
#include "server/command/server_parts.h"
#include "server/net/net_events.h"
#include "server/net/turn/buffer_pool.h"
#include "server/net/turn/partial_request.h"
#include "server/net/turn/readiness_set.h"
#include "server/net/turn/turn_arena.h"
#include "server/persist/state_log.h"

namespace fairlock::net {

class RespConnection;

// Another source of requests that are executed in the turns of the loop. Loop-confined.
class TurnTask {
 public:
  // Executes what has gathered; called once for each time that it stands in Turn::tasks. It may
  // enter itself again, for the next turn.
  virtual void TakeTurn(engine::TimeMs now) = 0;

 protected:
  ~TurnTask() = default;
};

// How much is done before others get their turn, and how much may pile up.
struct TurnLimits {
  std::size_t handlers_max = 256;  // readiness events a turn
  std::size_t accepts_max = 8;     // new connections a turn and listening socket
  std::size_t closes_max = 8;      // sockets of closed connections a turn; late ones refused
  std::size_t timers_max = 2000;   // due timers a turn
  std::size_t requests_max = 256;  // requests of one connection a turn
  // What is received from one connection a turn; what is received from all, and what is done for
  // them, before the others come behind; then what a turn does for those behind.
  std::size_t received_bytes_max = 8 * 1024;
  std::size_t light_bytes_max = 32 * 1024;
  std::size_t deferred_bytes_max = 16 * 1024;
  // Above this a connection's requests are neither read nor executed until it takes its replies.
  std::size_t output_pause_bytes = 256 * 1024;
  // Above this it is closed.
  std::size_t output_bytes_max = 16 * 1024 * 1024;
  // When the unread replies of all take more memory, those with the most are closed; 0: no bound.
  std::size_t all_output_bytes_max = 256 * 1024 * 1024;
  // The same of what came and cannot be executed yet: parts of requests, and what stands behind one
  // that waits.
  std::size_t all_input_bytes_max = 256 * 1024 * 1024;
  // In so long a request whose first bytes have come must be there whole; 0: whenever it likes.
  engine::DurationMs request_deadline_ms = 30'000;
  // Whoever sends more behind a request that waits is closed: in what is not read its end could not
  // be seen.
  std::size_t waiting_input_bytes_max = 1024 * 1024;
  // How long a connection that is to end may take for its last replies.
  engine::DurationMs linger_ms = 10'000;
  // The same, when the server stops.
  engine::DurationMs stop_ms = 2'000;
};

// Owned by the TurnLoop. A connection stands in each list at most once, and either in to_execute or
// in deferred. Loop-confined.
//
// A connection that asks for little is read and executed in the turn in which it is ready
// (to_execute), or in one of the next turns if these are too many. A connection that recently asked
// for more than its share is deferred, to deferred: each turn serves some of these, from the front;
// one with more to do goes to the end. So a turn is short whatever deferred connections ask for.
struct Turn {
  Turn(command::ServerParts& the_server, NetEvents& the_events, const TurnLimits& the_limits)
      : server(the_server), events(the_events), limits(the_limits) {}

  command::ServerParts& server;
  NetEvents& events;
  TurnLimits limits;
  // The time of this turn; it does not change between the turn's last read and its end.
  engine::TimeMs now = 0;
  ReadinessSet readiness;
  bool is_more_ready = false;  // who would have been received, had the turn not been full
  TurnArena arena;
  BufferPool buffers;
  command::AddressCounts addresses;   // of open connections, and of handshakes that lead to one
  persist::StateLog* keeper = nullptr;  // null: nothing is kept, and no reply waits

  std::vector<RespConnection*> to_execute;  // something has arrived
  std::vector<RespConnection*> to_finish;   // executed something, or have output
  std::deque<RespConnection*> deferred;     // come behind: something may have arrived, or was left
  std::vector<RespConnection*> to_watch;    // open but not read: looked at once a second
  std::vector<RespConnection*> held;        // their output waits for the journal
  std::deque<RespConnection*> closed;       // destroyed a few a turn
  PartialRequests partial_requests;         // the oldest first
  std::vector<TurnTask*> tasks;
  std::vector<TurnTask*> held_tasks;  // go on when the journal has completed more

  // It is destroyed soon.
  void Drop(TurnTask* task) {
    std::erase(tasks, task);
    std::erase(held_tasks, task);
  }
};

}  // namespace fairlock::net
