// One RESP connection: moves bytes between its socket and its client, and decides when to close.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/command/client/client.h"
#include "server/command/execution/request_pipeline.h"
#include "server/net/net_events.h"
#include "server/net/resp/client_socket.h"
#include "server/net/resp/fair_share_meter.h"
#include "server/net/resp/output_gate.h"
#include "server/net/resp/request_input.h"
#include "server/net/tls/tls_socket.h"
#include "server/net/turn/readiness_set.h"
#include "server/net/turn/script_queue.h"
#include "server/net/turn/turn.h"
#include "server/net/turn/turn_arena.h"

namespace fairlock::net {

// Memory that one connection has allocated.
struct ConnectionBuffers {
  std::uint32_t unread_bytes = 0;  // for replies that have not been sent yet
  std::uint32_t input_bytes = 0;   // for requests that have not been executed yet
};

// In each turn in which it takes part, it gets these calls: HandleReadiness or ReceiveDeferred,
// then Execute, then Finish. Holds no buffer while it is idle. Loop-confined; owned by
// RespConnections, which destroys it in the turn in which it was closed or, when many close at
// once, in one of the next turns.
//
// Invariants:
//  1. Nothing is executed while one of its requests waits, or while its unsent output exceeds
//     output_pause_bytes. While nothing is executed, it receives a bounded number of bytes.
//  2. Between turns an open connection waits for readiness to read or to write, is deferred, or is
//     polled once a second.
class RespConnection final : public command::Transport,
                             public boost::intrusive::list_base_hook<>,
                             public PartialRequest,
                             public ScriptSender {
 public:
  // Owns the socket. `tls` null: the connection is not encrypted.
  RespConnection(Turn& turn, int socket, command::ClientAddress address,
                 std::unique_ptr<TlsSocket> tls = nullptr);
  // REQUIRES: closed. Closes the descriptor, which costs more than all other calls here.
  ~RespConnection();

  // Begins to wait for bytes; false: the system's limit is reached.
  [[nodiscard]] bool Start();
  // Logs the client in as the user that its certificate names, if there is such a user.
  void LogInAs(std::string_view user);

  // Called when the socket is ready. Receives what has arrived, unless the connection is deferred
  // or may not be read now.
  void HandleReadiness(const Readiness& readiness);
  // Serves a deferred connection: receives about `bytes_max` bytes, unless it still has complete
  // requests. Returns how many bytes there are to execute.
  std::size_t ReceiveDeferred(std::size_t bytes_max);

  // Each turn calls this, then Execute, after it has read the clock. If a client has disconnected
  // while its request waits, this closes its connection, so that no lock is granted to it.
  void CloseIfDisconnected();
  // Returns the work done, in the unit of FairShareMeter.
  std::size_t Execute();
  void Finish();
  // Replaces Execute in a turn that has become too long: a later turn executes the requests.
  void StoreArrived() { input_.StoreArrived(); }
  // Called when the deadline of its incomplete request has passed.
  void RefusePartialRequest();
  // True: the journal has completed the batch that its output waits for, and the connection has
  // left Turn::held.
  bool ReleaseIfComplete();

  // Called once a second while the connection is not read; `poll_events` come from poll(2).
  void Watch(short poll_events);
  // True: it is being read again or is closed, and has left Turn::to_watch.
  bool StopsBeingWatched();

  // Called when the server stops: closes at once if a request waits, otherwise when all output is
  // sent.
  void End();
  // The only way in which a connection ends. Idempotent.
  void Close(CloseReason reason);

  bool is_closed() const { return life_ == Life::kClosed; }
  bool is_waiting() const { return client().wait.is_waiting(); }
  bool is_logged_in() const { return client().rights.user() != nullptr; }
  // As of the last Finish or Close.
  const ConnectionBuffers& buffers() const { return buffers_; }
  const command::ClientProfile& profile() const { return client().profile; }
  int descriptor() const { return socket_.descriptor(); }

 private:
  enum class Life : std::uint8_t {
    kOpen,
    kEnding,  // the server stops: the connection closes when its output is sent
    kClosed
  };
  // Why it closes at the end of this turn, without sending the rest of its output.
  enum class Doom : std::uint8_t {
    kNone,
    kOverLimit,  // a message did not fit: the client must not believe that it got all messages
    kKilled
  };
  // The deadline of an incomplete request.
  enum class Deadline : std::uint8_t {
    kNone,
    kRestDue,  // it has passed, but the rest may be among the bytes that are not received yet
    kOverdue   // it has passed, and the connection closes
  };
  enum List : std::uint8_t { kToExecute = 1, kToFinish = 2, kWatched = 4, kHeld = 8 };

  // Implements command::Transport for its client.
  void NoticeOutput() override;
  bool AdmitOutput(std::size_t bytes) override;
  void CloseNow() override;
  command::InputUse UnexecutedInput() const override {
    return {.bytes = input_.bytes(), .memory_bytes = input_.memory_bytes()};
  }

  command::Client& client() { return pipeline_.client(); }
  const command::Client& client() const { return pipeline_.client(); }
  bool IsIn(List list) const { return (lists_ & list) != 0; }
  // Adds the connection to a list of the turn, unless it is already in that list.
  void Enlist(List list, std::vector<RespConnection*>& connections);
  void Leave(List list) { lists_ &= static_cast<std::uint8_t>(~list); }

  void SetInterest(Interest interest) { socket_.SetInterest(turn_.readiness, *this, interest); }
  // Returns how many bytes were received.
  std::size_t Receive(std::size_t bytes_max);
  void ReceiveIfLight();
  bool HasLongTransaction() const;
  void TakeIn(std::string_view received);
  void Defer();
  // Its next request runs a script, and waits for its turn.
  void QueueScript();
  // The user, at its address.
  std::string ScriptAccount() const;

  // Returns how many bytes were executed.
  std::size_t ConsumeInput();
  void FollowPartialRequest(bool has_executed);
  bool CanExecute() const;
  bool IsToBeRead() const;

  std::uint64_t CompletedBatch() const;
  void HoldBackOutput();
  std::size_t SendableBytes() const;
  void SendOutput();
  std::size_t Send(std::string_view bytes);
  std::size_t output_bytes() const { return unsent_.size() + client().output.bytes().size(); }
  void CountBuffers();
  // Whether nothing is left to be received, executed or sent.
  bool IsComplete() const;
  bool IsAtItsEnd() const;
  bool IsWaitingOrUntold() const;
  CloseReason ReasonOfCompletion() const;
  void AwaitNextStep();
  void CountClosing(CloseReason reason);

  Turn& turn_;
  ClientSocket socket_;
  command::RequestPipeline pipeline_;
  RequestInput input_;
  ByteQueue unsent_;  // output that the kernel did not accept; precedes the client's output
  OutputGate gate_;   // holds back output whose batch the journal has not completed
  engine::TimeMs linger_until_ = engine::kNever;
  ConnectionBuffers buffers_;  // as counted in the gauges
  FairShareMeter share_;

  // Bit-fields keep the object within its size class of the allocator.
  Life life_ : 2 = Life::kOpen;
  Doom doom_ : 2 = Doom::kNone;
  Deadline deadline_ : 2 = Deadline::kNone;
  bool is_unread_ : 1 = false;  // not read for now, because many other connections come first
  std::uint8_t lists_ = 0;      // the lists of the turn that it is in
};

}  // namespace fairlock::net
