#include "server/net/resp/resp_connection.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <span>
#include <utility>

namespace fairlock::net {

namespace {

// The requests that the client executes at a time; its output is checked in between.
constexpr std::size_t kRequestsPerSlice = 16;

// What a client sends that does not ask for much at once: a few requests.
constexpr int kLittleBytes = 512;

// If more than these are deferred, the readiness set no longer reports them in each turn.
constexpr std::size_t kDeferredReportedMax = 64;

constexpr char kTlsHandshake = 0x16;

}  // namespace

static_assert(TurnArena::kWindowBytes >= TlsSocket::kWindowBytesMin);

RespConnection::RespConnection(Turn& turn, int socket, command::ClientAddress address,
                               std::unique_ptr<TlsSocket> tls)
    : turn_(turn),
      socket_(socket),
      tls_(std::move(tls)),
      pipeline_(turn.server.pipeline, *this, std::move(address), turn.now) {
  turn.addresses.Add(client().profile.address.peer);
}

RespConnection::~RespConnection() {
  assert(is_closed());
  ::close(socket_);
}

bool RespConnection::Start() {
  interest_ = {.to_read = true};
  if (!turn_.readiness.Add(socket_, *this, interest_)) return false;
  life_ = Life::kOpen;
  return true;
}

void RespConnection::Enlist(List list, std::vector<RespConnection*>& connections) {
  if (IsIn(list)) return;
  lists_ |= list;
  connections.push_back(this);
}

void RespConnection::SetInterest(Interest interest) {
  if (std::exchange(interest_, interest) == interest) return;
  turn_.readiness.Change(socket_, *this, interest);
}

void RespConnection::HandleReadiness(const Readiness& readiness) {
  if (is_closed()) return;
  if (readiness.to_write) Enlist(kToFinish, turn_.to_finish);
  if (IsIn(kToExecute)) {
    // It is deferred, and will be read when its turn comes.
    is_unread_ = readiness.to_read && turn_.deferred.size() > kDeferredReportedMax;
    if (is_unread_) SetInterest({.to_read = false, .to_write = interest_.to_write});
  } else if (readiness.to_read && interest_.to_read) {
    ReceiveIfLight();
  } else if (readiness.is_lost && !interest_.to_read) {
    peer_ = Peer::kLost;
    Enlist(kToExecute, turn_.to_execute);
  }
}

// Whoever waits is always read: that its client has gone must be seen before it is granted
// anything.
void RespConnection::ReceiveIfLight() {
  if (!client().wait.is_waiting()) {
    const std::size_t received = turn_.arena.used_bytes();
    const bool is_crowded = received >= turn_.limits.light_bytes_max / 4;
    if (work_.IsOverShare(turn_.now) || is_partial() || (is_crowded && HasMuchToRead())) {
      return Defer();
    }
    if (received >= turn_.limits.light_bytes_max) {
      // It is reported again in the next turn.
      turn_.is_more_ready = true;
      return;
    }
  }
  Receive(turn_.limits.received_bytes_max);
  Enlist(kToExecute, turn_.to_execute);
}

// Many connections that asked for nothing recently may ask for much at once.
bool RespConnection::HasMuchToRead() const {
  int bytes = 0;
  return ::ioctl(socket_, FIONREAD, &bytes) == 0 && bytes > kLittleBytes;
}

void RespConnection::Defer() {
  if (IsIn(kToExecute)) return;
  lists_ |= kToExecute;
  turn_.deferred.push_back(this);
}

std::size_t RespConnection::ReceiveDeferred(std::size_t bytes_max) {
  if (is_closed() || life_ == Life::kEnding) return 0;
  if (is_peer_done() || CanExecute()) return std::min(input_.size(), bytes_max);
  return Receive(bytes_max);
}

std::size_t RespConnection::Receive(std::size_t bytes_max) {
  std::span<char> window = turn_.arena.window();
  // A TLS record arrives as a whole.
  if (tls_ == nullptr) window = window.first(std::min(bytes_max, window.size()));
  const ssize_t received =
      tls_ != nullptr ? tls_->Receive(window) : ::recv(socket_, window.data(), window.size(), 0);
  if (received > 0) {
    TakeIn({window.data(), static_cast<std::size_t>(received)});
    if (tls_ != nullptr && tls_->has_ended()) MarkPeerDone();
    return static_cast<std::size_t>(received);
  }
  if (received == 0) {
    MarkPeerDone();
  } else if (errno != EAGAIN && errno != EINTR) {
    peer_ = Peer::kLost;
  }
  return 0;
}

void RespConnection::TakeIn(std::string_view received) {
  if (received.front() == kTlsHandshake && client().profile.last_command == nullptr) {
    turn_.events.LogUnexpectedTls(client().profile.address.peer, turn_.now);
  }
  turn_.server.statistics.counters.input_bytes += received.size();
  work_.Charge(received.size(), turn_.now);
  has_unseen_input_ = true;
  if (input_.empty() && !client().wait.is_waiting()) {
    arrived_ = turn_.arena.Keep(received.size());
  } else {
    input_.Append(received);
  }
}

bool RespConnection::CanExecute() const {
  return !client().wait.is_waiting() && !client().output.is_closing() && doom_ != Doom::kKilled &&
         life_ != Life::kEnding && output_bytes() <= turn_.limits.output_pause_bytes &&
         (has_unseen_input_ || pipeline_.has_more_to_execute());
}

// What was waited for and cannot be told any more is for the next in line. Whoever has asked for
// something that need not wait, and then says no more, still gets its reply.
bool RespConnection::IsWaitingOrUntold() const {
  return client().wait.is_waiting() || client().grants.HasAwaited();
}

// Who has nothing more to say or to be told has closed before what is asked now was asked.
void RespConnection::CloseIfGone() {
  const bool has_work = !arrived_.empty() || CanExecute() || output_bytes() > 0;
  if (is_peer_done() && (IsWaitingOrUntold() || !has_work)) {
    Close(peer_ == Peer::kLost ? CloseReason::kPeerFailed : CloseReason::kPeerClosed);
  }
}

std::size_t RespConnection::Execute() {
  Leave(kToExecute);
  is_unread_ = false;
  if (is_closed()) return 0;
  const std::uint64_t executed_before = client().profile.commands_processed;
  const std::uint64_t written_before = client().output.written();
  const command::MatchingMeter& matching = turn_.server.matching;
  const std::uint64_t matched_before = matching.total();
  const std::size_t work = CanExecute() ? ConsumeInput() : 0;
  KeepArrived();
  FollowPartialRequest(client().profile.commands_processed != executed_before);
  const auto written = static_cast<std::size_t>(client().output.written() - written_before);
  const std::size_t matched =
      (matching.total() - matched_before) / command::MatchingMeter::kWorkPerByte;
  work_.Charge(written + matched, turn_.now);
  NoticeOutput();
  return work + written + matched;
}

// Its time runs from the turn in which the request before it was executed.
void RespConnection::FollowPartialRequest(bool has_executed) {
  const bool is_partial_now = !input_.empty() && !has_unseen_input_ &&
                              !pipeline_.has_more_to_execute() && !client().wait.is_waiting() &&
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
  // Others come first, and the rest of the request may have come.
  deadline_ = IsIn(kToExecute) ? Deadline::kRestDue : Deadline::kNone;
  // A request that is not read cannot be completed.
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
  const bool is_in_arena = input_.empty();
  const std::string_view input = is_in_arena ? arrived_ : input_.view();
  std::size_t consumed = 0;
  std::size_t requests_left = turn_.limits.requests_max;
  const std::uint64_t written_max = client().output.written() + turn_.limits.deferred_bytes_max;
  const command::MatchingMeter& matching = turn_.server.matching;
  const std::uint64_t matched_max =
      matching.total() + turn_.limits.deferred_bytes_max * command::MatchingMeter::kWorkPerByte;
  do {
    const std::size_t slice = std::min(requests_left, kRequestsPerSlice);
    has_unseen_input_ = false;
    consumed += pipeline_.Consume(input.substr(consumed), slice, turn_.now);
    requests_left -= slice;
    // After long replies, or much matching of globs, others have their turn.
  } while (requests_left > 0 && CanExecute() && client().output.written() <= written_max &&
           matching.total() <= matched_max);
  if (is_in_arena) {
    arrived_.remove_prefix(consumed);
  } else {
    input_.DropFront(consumed);
  }
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
  if (peer_ == Peer::kLost) return Close(CloseReason::kPeerFailed);
  if (turn_.keeper != nullptr) HoldBackOutput();
  SendOutput();
  if (is_closed()) return;
  if (output_bytes() > turn_.limits.output_bytes_max) return Close(CloseReason::kOutputLimit);
  if (IsOver()) {
    return Close(deadline_ == Deadline::kOverdue ? CloseReason::kRequestDeadline
                 : life_ == Life::kEnding        ? CloseReason::kServerStops
                 : is_peer_done()                ? CloseReason::kPeerClosed
                                                 : CloseReason::kAnswered);
  }
  // The end of the connection could not be seen after it.
  if (client().wait.is_waiting() && input_.size() >= turn_.limits.waiting_input_bytes_max) {
    return Close(CloseReason::kInputLimit);
  }
  WaitForWhatIsNext();
  CountBuffers();
}

void RespConnection::CountBuffers() {
  const auto count = [](std::size_t bytes, std::uint32_t& counted, std::uint64_t& all) {
    all += bytes - counted;
    counted = static_cast<std::uint32_t>(bytes);
  };
  command::ServerGauges& gauges = turn_.server.statistics.gauges;
  const std::string& output = client().output.bytes();
  count(unsent_.memory_bytes() + (output.empty() ? 0 : output.capacity()), unread_bytes_,
        gauges.unread_reply_bytes);
  count(input_.memory_bytes(), input_bytes_, gauges.unexecuted_input_bytes);
}

std::uint64_t RespConnection::CompletedBatch() const { return turn_.keeper->completed_batch(); }

void RespConnection::HoldBackOutput() {
  if (client().output.TakeStateDependency()) {
    const std::uint64_t batch = turn_.keeper->Seal(turn_.now);
    if (batch > CompletedBatch()) gate_.Close(client().output.written(), batch);
  }
  gate_.Pass(client().output.written());
  if (gate_.is_open()) return;
  gate_.Release(CompletedBatch());
  if (!gate_.is_open()) Enlist(kHeld, turn_.held);
}

void RespConnection::NoticeRelease() {
  Leave(kHeld);
  NoticeOutput();
}

std::size_t RespConnection::SendableBytes() const {
  if (gate_.is_open()) return output_bytes();
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
  const ssize_t sent =
      tls_ != nullptr ? tls_->Send(bytes)
                      : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) {
    if (errno != EAGAIN && errno != EINTR) Close(CloseReason::kPeerFailed);
    return 0;
  }
  turn_.server.statistics.counters.output_bytes += static_cast<std::uint64_t>(sent);
  client().NoticeSent(static_cast<std::size_t>(sent));
  return static_cast<std::size_t>(sent);
}

bool RespConnection::IsOver() const {
  if (is_peer_done() && IsWaitingOrUntold()) return true;
  if (output_bytes() > 0) return false;
  return client().output.is_closing() || life_ == Life::kEnding ||
         (is_peer_done() && !CanExecute());
}

bool RespConnection::IsToBeRead() const {
  if (is_peer_done() || life_ == Life::kEnding || client().output.is_closing()) return false;
  if (client().wait.is_waiting()) return true;
  return output_bytes() <= turn_.limits.output_pause_bytes;
}

void RespConnection::WaitForWhatIsNext() {
  const bool goes_on = CanExecute();
  SetInterest({.to_read = IsToBeRead() && !is_unread_, .to_write = SendableBytes() > 0});
  if (goes_on) {
    Defer();
  } else if (!interest_.to_read && !IsIn(kToExecute)) {
    const bool is_at_its_end =
        is_peer_done() || life_ == Life::kEnding || client().output.is_closing();
    if (is_at_its_end && linger_until_ == engine::kNever) {
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
  const bool stops = is_closed() || interest_.to_read || IsIn(kToExecute);
  if (stops) Leave(kWatched);
  return stops;
}

void RespConnection::End() {
  if (is_closed()) return;
  if (client().wait.is_waiting()) return Close(CloseReason::kServerStops);
  life_ = Life::kEnding;
  NoticeOutput();
}

void RespConnection::DiscardInput() {
  // Closing with bytes unread would reset the connection, and the peer might lose its last reply.
  char bytes[4096];
  for (int i = 0; i < 64; ++i) {
    if (::recv(socket_, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0) return;
  }
}

void RespConnection::LogInAs(std::string_view user) {
  static_cast<void>(turn_.server.sessions.LogInAs(client(), user));
}

void RespConnection::Close(CloseReason reason) {
  if (is_closed()) return;
  const bool was_started = life_ != Life::kNew;
  life_ = Life::kClosed;
  if (tls_ != nullptr && reason != CloseReason::kPeerFailed) tls_->SendEnd();
  const bool is_answered =
      reason == CloseReason::kAnswered || reason == CloseReason::kRequestDeadline;
  if (is_answered || reason == CloseReason::kServerStops) DiscardInput();
  const bool is_over_limit =
      reason == CloseReason::kOutputLimit || reason == CloseReason::kAllOutputLimit;
  if (is_over_limit) ++turn_.server.statistics.counters.closed_over_output_limit;
  const bool is_over_input_limit =
      reason == CloseReason::kInputLimit || reason == CloseReason::kAllInputLimit;
  if (is_over_input_limit) ++turn_.server.statistics.counters.closed_over_input_limit;
  turn_.events.LogClosed(client().profile, reason, turn_.now);
  pipeline_.Detach(turn_.now);
  turn_.addresses.Remove(client().profile.address.peer);
  if (was_started) turn_.readiness.Remove(socket_);
  input_.Clear();
  unsent_.Clear();
  turn_.buffers.Return(client().output.bytes());
  CountBuffers();
  EndPartial();
  turn_.closed.push_back(this);
}

}  // namespace fairlock::net
