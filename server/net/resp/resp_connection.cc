#include "server/net/resp/resp_connection.h"

#include <poll.h>

#include <algorithm>
#include <cassert>
#include <span>
#include <string>
#include <utility>

#include "server/command/client/transaction.h"

namespace fairlock::net {

namespace {

// The number of requests after which the size of the output is checked.
constexpr std::size_t kRequestsPerSlice = 16;

// A client that has sent no more than this has sent only a few requests.
constexpr int kLittleBytes = 512;

// If more connections than this are deferred, the readiness set stops reporting them, because it
// would report them in every turn.
constexpr std::size_t kDeferredReportedMax = 64;

constexpr char kTlsHandshake = 0x16;

}  // namespace

// This is a size class of the allocator. The next one would cost 128 bytes more for each idle
// connection.
static_assert(sizeof(RespConnection) <= 768);

RespConnection::RespConnection(Turn& turn, int socket, command::ClientAddress address,
                               std::unique_ptr<TlsSocket> tls)
    : turn_(turn),
      socket_(socket, std::move(tls)),
      pipeline_(turn.server.pipeline, *this, std::move(address), turn.now) {
  turn.addresses.Add(client().profile.address.peer);
}

RespConnection::~RespConnection() { assert(is_closed()); }

bool RespConnection::Start() { return socket_.Enter(turn_.readiness, *this, {.to_read = true}); }

void RespConnection::Enlist(List list, std::vector<RespConnection*>& connections) {
  if (IsIn(list)) return;
  lists_ |= list;
  connections.push_back(this);
}

void RespConnection::HandleReadiness(const Readiness& readiness) {
  if (is_closed()) return;
  if (readiness.to_write) Enlist(kToFinish, turn_.to_finish);
  const Interest interest = socket_.interest();
  if (IsIn(kToExecute)) {
    // A deferred connection is read when it is served. If there are many, or their clients are
    // gone, the set would report them in each turn, and others in a few turns only.
    is_unread_ =
        readiness.is_lost ||
        (readiness.to_read && turn_.deferred.size() + turn_.scripts.size() > kDeferredReportedMax);
    if (is_unread_) SetInterest({.to_read = false, .to_write = interest.to_write});
  } else if (readiness.to_read && interest.to_read) {
    ReceiveIfLight();
  } else if (readiness.is_lost && !interest.to_read) {
    socket_.MarkPeerLost();
    Enlist(kToExecute, turn_.to_execute);
  }
}

// What EXEC will cost cannot be seen from its bytes, so that of many requests is never light.
bool RespConnection::HasLongTransaction() const {
  constexpr std::size_t kRequestsMax = 16;
  return client().transaction != nullptr && client().transaction->size() > kRequestsMax;
}

// A connection whose request waits is always read: its end must be seen before a lock is granted to
// it. Many connections that were idle until now may send large requests at the same time, so a
// crowded turn also defers those that have sent much.
void RespConnection::ReceiveIfLight() {
  if (!is_waiting()) {
    const std::size_t received = turn_.arena.used_bytes();
    const bool is_crowded = received >= turn_.limits.light_bytes_max / 4;
    if (share_.IsOverShare(turn_.now) || is_partial() || HasLongTransaction() ||
        (is_crowded && socket_.HasMoreThan(kLittleBytes))) {
      return Defer();
    }
    if (received >= turn_.limits.light_bytes_max) {
      // The readiness set reports it again in the next turn.
      turn_.is_more_ready = true;
      return;
    }
  }
  Receive(turn_.limits.received_bytes_max);
  Enlist(kToExecute, turn_.to_execute);
}

void RespConnection::Defer() {
  if (IsIn(kToExecute)) return;
  lists_ |= kToExecute;
  turn_.deferred.push_back(this);
}

void RespConnection::QueueScript() {
  if (IsIn(kToExecute)) return;
  lists_ |= kToExecute;
  turn_.scripts.Add(*this, ScriptAccount());
}

std::string RespConnection::ScriptAccount() const {
  return client().profile.user + ' ' + command::NetworkOf(client().profile.address.peer);
}

std::size_t RespConnection::ReceiveDeferred(std::size_t bytes_max) {
  if (is_closed() || life_ == Life::kEnding) return 0;
  if (socket_.is_peer_done() || CanExecute()) return std::min(input_.stored_bytes(), bytes_max);
  return Receive(bytes_max);
}

std::size_t RespConnection::Receive(std::size_t bytes_max) {
  const std::span<char> window = turn_.arena.window();
  const std::size_t received = socket_.Receive(window, bytes_max);
  if (received > 0) TakeIn({window.data(), received});
  return received;
}

void RespConnection::TakeIn(std::string_view received) {
  if (received.front() == kTlsHandshake && client().profile.last_command == nullptr) {
    turn_.events.LogUnexpectedTls(client().profile.address.peer, turn_.now);
  }
  turn_.server.statistics.counters.input_bytes += received.size();
  share_.Charge(received.size(), turn_.now);
  input_.Receive(received, turn_.arena, is_waiting());
}

bool RespConnection::CanExecute() const {
  return !is_waiting() && !client().output.is_closing() && doom_ != Doom::kKilled &&
         life_ != Life::kEnding && output_bytes() <= turn_.limits.output_pause_bytes &&
         (input_.has_unseen() || pipeline_.has_more_to_execute());
}

// Whether its client waits for a grant, or has got a grant that is not sent yet. If the client has
// disconnected, the grant goes to the next waiter. A client that only half-closed its connection
// after a request that need not wait still gets its reply.
bool RespConnection::IsWaitingOrUntold() const {
  return is_waiting() || client().grants.HasAwaited();
}

// A half-closed connection with nothing pending is closed before the requests of this turn are
// executed.
void RespConnection::CloseIfDisconnected() {
  const bool has_work = input_.has_arrived() || CanExecute() || output_bytes() > 0;
  if (socket_.is_peer_done() && (IsWaitingOrUntold() || !has_work)) {
    Close(socket_.is_peer_lost() ? CloseReason::kPeerFailed : CloseReason::kPeerClosed);
  }
}

std::size_t RespConnection::Execute() {
  Leave(kToExecute);
  is_unread_ = false;
  if (is_closed()) return 0;
  const std::uint64_t executed_before = client().profile.commands_processed;
  const std::uint64_t written_before = client().output.written();
  const command::WorkMeter& meter = turn_.server.work;
  const std::uint64_t done_before = meter.total();
  command::ScriptTurns& turns = turn_.server.script_turns;
  const std::uint64_t scripts_ns_before = turns.run_ns();
  const std::size_t consumed = CanExecute() ? ConsumeInput() : 0;
  StoreArrived();
  const bool awaits_script_turn = pipeline_.awaits_script_turn() && CanExecute();
  FollowPartialRequest(client().profile.commands_processed != executed_before);
  const auto written = static_cast<std::size_t>(client().output.written() - written_before);
  const std::size_t work = (meter.total() - done_before) / command::WorkMeter::kWorkPerByte;
  std::uint64_t scripts_ns = turns.run_ns() - scripts_ns_before;
  if (scripts_ns >= ScriptQueue::kChargedNsMin) {
    scripts_ns = std::min(scripts_ns, turns.TakeProcessorNs());
    turn_.scripts.Charge(*this, ScriptAccount(), scripts_ns);
  }
  share_.Charge(written + scripts_ns / FairShareMeter::kScriptNsPerByte, turn_.now);
  if (work > 0) share_.ChargeWork(work, turn_.now);
  if (awaits_script_turn) QueueScript();
  NoticeOutput();
  return consumed + written + work;
}

// The deadline runs from the turn in which the preceding request was executed.
void RespConnection::FollowPartialRequest(bool has_executed) {
  const bool is_partial_now = input_.stored_bytes() > 0 && !input_.has_unseen() &&
                              !pipeline_.has_more_to_execute() && !is_waiting() &&
                              !client().output.is_closing();
  const bool is_rest_due = deadline_ == Deadline::kRestDue;
  if (is_rest_due) deadline_ = Deadline::kNone;
  if (!is_partial_now) {
    EndPartial();
  } else if (is_rest_due && !has_executed) {
    ResumePartial(turn_.partial_requests);
  } else if (has_executed || !is_partial()) {
    BeginPartial(turn_.partial_requests, turn_.now);
  }
}

void RespConnection::RefusePartialRequest() {
  EndPartial();
  // If the connection is deferred, the rest of the request may have arrived without being read.
  deadline_ = IsIn(kToExecute) ? Deadline::kRestDue : Deadline::kNone;
  // Only a client from which the server reads can complete its request, so others are not refused.
  if (is_closed() || IsIn(kToExecute) || !IsToBeRead()) return;
  deadline_ = Deadline::kOverdue;
  ++turn_.server.statistics.counters.closed_over_request_deadline;
  pipeline_.EndWith(protocol::ErrorCode::kErr,
                    "request not completed within " +
                        std::to_string(turn_.limits.request_deadline_ms) +
                        " ms (request_deadline)");
}

std::size_t RespConnection::ConsumeInput() {
  if (client().output.bytes().empty()) turn_.buffers.Lend(client().output.bytes());
  const std::string_view input = input_.view();
  std::size_t consumed = 0;
  std::size_t requests_left = turn_.limits.requests_max;
  const std::uint64_t written_max = client().output.written() + turn_.limits.deferred_bytes_max;
  const command::WorkMeter& meter = turn_.server.work;
  const std::uint64_t work_max =
      meter.total() + turn_.limits.deferred_bytes_max * command::WorkMeter::kWorkPerByte;
  do {
    const std::size_t slice = std::min(requests_left, kRequestsPerSlice);
    input_.MarkSeen();
    consumed += pipeline_.Consume(input.substr(consumed), slice, turn_.now);
    requests_left -= slice;
    // Long replies and other work also end the loop, so that other connections are served.
  } while (requests_left > 0 && CanExecute() && !pipeline_.awaits_script_turn() &&
           client().output.written() <= written_max && meter.total() <= work_max);
  input_.DropFront(consumed);
  return consumed;
}

void RespConnection::NoticeOutput() {
  if (!is_closed()) Enlist(kToFinish, turn_.to_finish);
}

bool RespConnection::AdmitOutput(std::size_t bytes) {
  if (doom_ != Doom::kNone) return false;
  if (output_bytes() + bytes <= turn_.limits.output_bytes_max) return true;
  doom_ = Doom::kOverLimit;
  NoticeOutput();
  return false;
}

void RespConnection::CloseNow() {
  doom_ = Doom::kKilled;
  NoticeOutput();
}

void RespConnection::Finish() {
  Leave(kToFinish);
  if (is_closed()) return;
  if (doom_ == Doom::kKilled) return Close(CloseReason::kKilled);
  if (doom_ == Doom::kOverLimit) return Close(CloseReason::kOutputLimit);
  if (socket_.is_peer_lost()) return Close(CloseReason::kPeerFailed);
  HoldBackOutput();
  SendOutput();
  if (is_closed()) return;
  if (output_bytes() > turn_.limits.output_bytes_max) return Close(CloseReason::kOutputLimit);
  if (IsComplete()) return Close(ReasonOfCompletion());
  // Closes the connection: if the rest were left unread, its end would not be seen.
  if (is_waiting() && input_.stored_bytes() >= turn_.limits.waiting_input_bytes_max) {
    return Close(CloseReason::kInputLimit);
  }
  AwaitNextStep();
  CountBuffers();
}

CloseReason RespConnection::ReasonOfCompletion() const {
  if (deadline_ == Deadline::kOverdue) return CloseReason::kRequestDeadline;
  if (life_ == Life::kEnding) return CloseReason::kServerStops;
  return socket_.is_peer_done() ? CloseReason::kPeerClosed : CloseReason::kAnswered;
}

void RespConnection::CountBuffers() {
  const auto count = [](std::size_t bytes, std::uint32_t& counted, std::uint64_t& all) {
    all += bytes - counted;
    counted = static_cast<std::uint32_t>(bytes);
  };
  command::ServerGauges& gauges = turn_.server.statistics.gauges;
  const std::string& output = client().output.bytes();
  count(unsent_.memory_bytes() + (output.empty() ? 0 : output.capacity()), buffers_.unread_bytes,
        gauges.unread_reply_bytes);
  count(input_.memory_bytes(), buffers_.input_bytes, gauges.unexecuted_input_bytes);
}

std::uint64_t RespConnection::CompletedBatch() const { return turn_.state_log->completed_batch(); }

void RespConnection::HoldBackOutput() {
  // While the server loads, its output waits for nothing, but counts as seen.
  if (turn_.state_log == nullptr) return gate_.Pass(client().output.written());
  if (client().output.TakeStateDependency()) {
    const std::uint64_t batch = turn_.state_log->Seal(turn_.now);
    if (batch > CompletedBatch()) gate_.Close(client().output.written(), batch);
  }
  gate_.Pass(client().output.written());
  if (gate_.is_open()) return;
  gate_.Release(CompletedBatch());
  if (!gate_.is_open()) Enlist(kHeld, turn_.held);
}

bool RespConnection::ReleaseIfComplete() {
  if (!is_closed() && gate_.awaited_batch() > CompletedBatch()) return false;
  Leave(kHeld);
  NoticeOutput();
  return true;
}

std::size_t RespConnection::SendableBytes() const {
  if (gate_.is_open()) return output_bytes();
  assert(gate_.open_up_to() >= client().output.sent());
  return static_cast<std::size_t>(gate_.open_up_to() - client().output.sent());
}

void RespConnection::SendOutput() {
  std::size_t sendable = SendableBytes();
  if (!unsent_.empty()) {
    const std::size_t sent = Send(unsent_.view().substr(0, sendable));
    unsent_.DropFront(sent);
    if (is_closed() || !unsent_.empty()) return;
    sendable -= sent;
  }
  std::string& output = client().output.bytes();
  if (sendable == 0 && !output.empty()) return;
  client().output.CountTaken(output.size());
  const std::size_t sent = Send(std::string_view(output).substr(0, sendable));
  if (sent == output.size()) {
    turn_.buffers.Return(output);
  } else if (!is_closed()) {
    unsent_.Adopt(std::exchange(output, {}), sent);
  }
}

std::size_t RespConnection::Send(std::string_view bytes) {
  if (bytes.empty()) return 0;
  const ssize_t sent = socket_.Send(bytes);
  if (sent < 0) Close(CloseReason::kPeerFailed);
  if (sent <= 0) return 0;
  turn_.server.statistics.counters.output_bytes += static_cast<std::uint64_t>(sent);
  client().NoticeSent(static_cast<std::size_t>(sent));
  return static_cast<std::size_t>(sent);
}

bool RespConnection::IsComplete() const {
  if (socket_.is_peer_done() && IsWaitingOrUntold()) return true;
  if (output_bytes() > 0) return false;
  return client().output.is_closing() || life_ == Life::kEnding ||
         (socket_.is_peer_done() && !CanExecute());
}

// Whether nothing more will be received from it.
bool RespConnection::IsAtItsEnd() const {
  return socket_.is_peer_done() || life_ == Life::kEnding || client().output.is_closing();
}

bool RespConnection::IsToBeRead() const {
  if (IsAtItsEnd()) return false;
  return is_waiting() || output_bytes() <= turn_.limits.output_pause_bytes;
}

void RespConnection::AwaitNextStep() {
  const bool has_more_to_execute = CanExecute();
  SetInterest({.to_read = IsToBeRead() && !is_unread_, .to_write = SendableBytes() > 0});
  if (has_more_to_execute && pipeline_.awaits_script_turn()) {
    QueueScript();
  } else if (has_more_to_execute) {
    Defer();
  } else if (!socket_.interest().to_read && !IsIn(kToExecute)) {
    if (IsAtItsEnd() && linger_until_ == engine::kNever) {
      linger_until_ = turn_.now + turn_.limits.linger_ms;
    }
    Enlist(kWatched, turn_.to_watch);
  }
}

void RespConnection::Watch(short poll_events) {
  if (turn_.now >= linger_until_) return Close(CloseReason::kLingered);
  if ((poll_events & (POLLERR | POLLHUP | POLLNVAL)) != 0) return Close(CloseReason::kPeerFailed);
  const bool is_done = (poll_events & POLLRDHUP) != 0;
  if (is_done && IsWaitingOrUntold()) Close(CloseReason::kPeerClosed);
}

bool RespConnection::StopsBeingWatched() {
  const bool stops = is_closed() || socket_.interest().to_read || IsIn(kToExecute);
  if (stops) Leave(kWatched);
  return stops;
}

void RespConnection::End() {
  if (is_closed()) return;
  if (is_waiting()) return Close(CloseReason::kServerStops);
  life_ = Life::kEnding;
  NoticeOutput();
}

void RespConnection::LogInAs(std::string_view user) {
  static_cast<void>(turn_.server.sessions.LogInAs(client(), user));
}

void RespConnection::Close(CloseReason reason) {
  if (is_closed()) return;
  life_ = Life::kClosed;
  if (reason != CloseReason::kPeerFailed) {
    socket_.SendEnd(reason == CloseReason::kAnswered || reason == CloseReason::kRequestDeadline ||
                    reason == CloseReason::kNotConfirmed || reason == CloseReason::kServerStops);
  }
  CountClosing(reason);
  turn_.events.LogClosed(client().profile, reason, turn_.now);
  pipeline_.Detach(turn_.now);
  turn_.addresses.Remove(client().profile.address.peer);
  socket_.Leave(turn_.readiness);
  input_.Clear();
  unsent_.Clear();
  turn_.buffers.Return(client().output.bytes());
  CountBuffers();
  EndPartial();
  turn_.closed.push_back(this);
}

void RespConnection::CountClosing(CloseReason reason) {
  command::ServerCounters& counters = turn_.server.statistics.counters;
  if (reason == CloseReason::kOutputLimit || reason == CloseReason::kAllOutputLimit) {
    ++counters.closed_over_output_limit;
  } else if (reason == CloseReason::kInputLimit || reason == CloseReason::kAllInputLimit) {
    ++counters.closed_over_input_limit;
  }
}

}  // namespace fairlock::net
