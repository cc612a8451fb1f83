// One RESP connection: moves bytes between its socket and its client, and decides when it is over.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "server/command/client/client.h"
#include "server/command/client/transport.h"
#include "server/command/execution/request_pipeline.h"
#include "server/net/resp/byte_queue.h"
#include "server/net/resp/output_gate.h"
#include "server/net/resp/fair_share_meter.h"
#include "server/net/tls/tls_socket.h"
#include "server/net/turn/partial_request.h"
#include "server/net/turn/readiness_set.h"
#include "server/net/turn/turn.h"

namespace fairlock::net {

// Its life in a turn: Receive (as the socket becomes ready), then Execute, then Finish. Holds no
// buffer while it is idle. Loop-confined; owned by the TurnLoop, which destroys it in the turn in
// which it was closed or, when many close at once, in one of the next.
//
// Invariants:
//  1. While its output is piled up, its request waits or whole requests are left, nothing is
//     executed; while it is not executed, at most a bounded amount is read.
//  2. Between turns a connection that is open waits for readiness to read or to write, goes on in
//     a later turn, or is watched each second.
class RespConnection final : public command::Transport,
                             public boost::intrusive::list_base_hook<>,
                             public PartialRequest {
 public:
  // Owns the socket, which may be under TLS.
  RespConnection(Turn& turn, int socket, command::ClientAddress address,
                 std::unique_ptr<TlsSocket> tls = nullptr);
  // REQUIRES: closed. Gives the socket back to the system, which takes longer than all else here.
  ~RespConnection();

  // Begins to wait for bytes; false: the system has no room for that.
  [[nodiscard]] bool Start();

  // Its socket is ready. Receives what there is, unless the connection is not to be read now or
  // is deferred.
  void HandleReadiness(const Readiness& readiness);
  // Its turn has come among those behind: receives at most about so much, unless whole requests
  // are left. Returns how many bytes there are to execute.
  std::size_t ReceiveDeferred(std::size_t bytes_max);

  // The steps of a turn, after its time was taken. A connection whose client is gone and whose
  // request waits closes first, so that nothing is granted to it.
  void CloseIfGone();
  // Returns how much work that was, counted as in FairShareMeter.
  std::size_t Execute();
  void Finish();
  // Instead of Execute, when the turn has become too long: a later one executes it.
  void KeepArrived() { input_.Append(std::exchange(arrived_, {})); }
  // The rest of its request is overdue.
  void RefusePartialRequest();

  // Whether it goes on to Finish: the journal has completed what its output waits for.
  bool IsReleased() const { return is_closed() || gate_.awaited_batch() <= CompletedBatch(); }
  void NoticeRelease();

  // Once a second for a connection that is not read; `poll_events` is what poll(2) found.
  void Watch(short poll_events);
  // True: it is read again, or closed, and has left the list of watched connections.
  bool StopsBeingWatched();

  // The server stops: without a reply if a request waits, else when its output is sent.
  void End();
  // The only place where a connection ends: from now on it is nothing to anybody. Idempotent.
  void Close(CloseReason reason);
  // Logs the client in as the user that its certificate names; no effect if there is none.
  void LogInAs(std::string_view user);

  bool is_closed() const { return life_ == Life::kClosed; }
  bool is_waiting() const { return client().wait.is_waiting(); }
  bool is_logged_in() const { return client().rights.user() != nullptr; }
  // Memory for replies that were not sent yet, as it was when it was last looked at; and for what
  // came and is not executed.
  std::size_t unread_bytes() const { return unread_bytes_; }
  std::size_t input_bytes() const { return input_bytes_; }
  const command::ClientProfile& profile() const { return client().profile; }
  int socket() const { return socket_; }

  void NoticeOutput() override;
  bool AdmitOutput(std::size_t bytes) override;
  void CloseNow() override;
  command::InputUse UnexecutedInput() const override {
    return {.bytes = input_.size() + arrived_.size(), .memory_bytes = input_.memory_bytes()};
  }

 private:
  enum class Life : std::uint8_t {
    kNew,     // the readiness set does not know it
    kOpen,    // the readiness set knows it
    kEnding,  // the server stops: it closes when its output is sent
    kClosed
  };
  enum class Peer : std::uint8_t {
    kOpen,
    kDone,  // sends nothing any more
    kLost   // sends nothing and takes nothing any more
  };
  // Why it closes at the end of this turn, without sending the rest of its output.
  enum class Doom : std::uint8_t {
    kNone,
    kOverLimit,  // a message found no room: it must not seem as if the client got all of them
    kKilled
  };
  // The deadline of a request that has come only in part.
  enum class Deadline : std::uint8_t {
    kNone,
    kRestDue,  // it has passed, but the rest may be among the bytes that are still to be read
    kOverdue   // it has passed, and the connection closes
  };
  enum List : std::uint8_t { kToExecute = 1, kToFinish = 2, kWatched = 4, kHeld = 8 };

  command::Client& client() { return pipeline_.client(); }
  const command::Client& client() const { return pipeline_.client(); }
  bool IsIn(List list) const { return (lists_ & list) != 0; }
  // Puts the connection into that list of the turn, once.
  void Enlist(List list, std::vector<RespConnection*>& connections);
  void Leave(List list) { lists_ &= static_cast<std::uint8_t>(~list); }

  bool is_peer_done() const { return peer_ != Peer::kOpen; }
  void MarkPeerDone() {
    if (peer_ == Peer::kOpen) peer_ = Peer::kDone;
  }
  void SetInterest(Interest interest);
  // Returns how many bytes came.
  std::size_t Receive(std::size_t bytes_max);
  void ReceiveIfLight();
  bool HasMuchToRead() const;
  void TakeIn(std::string_view received);
  void Defer();

  // Returns how many bytes were done with.
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
  bool IsOver() const;
  bool IsWaitingOrUntold() const;
  void WaitForWhatIsNext();
  void DiscardInput();

  Turn& turn_;
  const int socket_;
  const std::unique_ptr<TlsSocket> tls_;  // null: what is sent is sent as it is
  command::RequestPipeline pipeline_;
  std::string_view arrived_;  // in the turn's arena; empty between turns
  ByteQueue input_;           // what was left of earlier turns; comes before arrived_
  ByteQueue unsent_;          // what did not leave at once; comes before the client's output
  OutputGate gate_;           // holds back what the journal has not completed
  engine::TimeMs linger_until_ = engine::kNever;
  std::uint32_t unread_bytes_ = 0;  // these two: as the counters have them
  std::uint32_t input_bytes_ = 0;
  FairShareMeter work_;

  Interest interest_;  // what the readiness set was told

  // Bit-fields: with a byte for each an idle connection would take 128 bytes more, for it would no
  // longer fit into the allocator's size class.
  Life life_ : 2 = Life::kNew;
  Peer peer_ : 2 = Peer::kOpen;
  Doom doom_ : 2 = Doom::kNone;
  Deadline deadline_ : 2 = Deadline::kNone;
  std::uint8_t lists_ = 0;             // the lists of the turn that it stands in
  bool has_unseen_input_ : 1 = false;  // input_ has bytes that the client was not yet given
  bool is_unread_ : 1 = false;         // not read for now, because many others come first
};

}  // namespace fairlock::net
