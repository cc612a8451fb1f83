#include "server/net/loop/turn_loop.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "server/net/clock.h"

namespace fairlock::net {

namespace {

constexpr engine::DurationMs kWatchEveryMs = 1000;
// The kernel's timer stands still while the machine sleeps; the clock of leases does not.
constexpr engine::DurationMs kTimedWaitMsMax = 1000;
constexpr int kHeldUpMsMax = 10;
constexpr engine::DurationMs kUntilReady = engine::kForever;

// What it costs to receive from a connection and to send to it, as so many bytes of requests.
constexpr std::size_t kVisitBytes = 512;

// When nobody has asked for little in so long, nobody is kept waiting by longer turns, and these
// cost less.
constexpr engine::DurationMs kAloneMs = 100;
constexpr std::size_t kTimesTheWorkWhenAlone = 16;

// So many connections wait for the same sync that their waiting is worth the processor's time,
// which they have at the most.
constexpr std::size_t kHeldToPoll = 8;
constexpr std::uint64_t kPollNsMax = 300'000;

constexpr std::string_view kTooMany = "-ERR max number of clients reached\r\n";

std::string TextOf(const Refusal& refusal) {
  if (!refusal.is_by_address) return std::string(kTooMany);
  return "-FULL this address has " + std::to_string(refusal.connections_max) +
         " connections (max_clients_per_address); close one of them first\r\n";
}

}  // namespace

// Only this thread touches the descriptors, so Asio need not lock them.
TurnLoop::TurnLoop(command::ServerParts& server, NetEvents& events, const LoopOptions& options)
    : socket_options_(options.sockets),
      connections_max_(options.connections_max),
      io_context_(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO),
      turn_(server, events, options.limits),
      ready_connections_(io_context_, turn_.readiness.descriptor()) {
  turn_.now = BoottimeMs();
  turn_.readiness.AddWake(wake_.descriptor());
}

TurnLoop::~TurnLoop() { CloseEverything(); }

void TurnLoop::StartListening(std::vector<ListeningSocket> sockets, ConnectionSink* keeper) {
  for (ListeningSocket& socket : sockets) {
    auto acceptor = std::make_unique<Acceptor>(io_context_, std::move(socket), socket_options_);
    acceptor->Start();
    entrances_.push_back({std::move(acceptor), keeper == nullptr ? *this : *keeper});
  }
}

void TurnLoop::Run() {
  const auto work = boost::asio::make_work_guard(io_context_);
  while (!is_stopping_ || !connections_.empty()) RunTurn();
}

void TurnLoop::RunTurn() {
  turn_.arena.Clear();
  WaitForReadiness();
  turn_.now = std::max(turn_.now, BoottimeMs());
  ++turn_.server.statistics.counters.turns;
  if (turn_.keeper != nullptr) BeginKeeping();
  CloseThoseWhoAreGone();
  EndDue();
  ExecuteRequests();
  ExecuteBehind();
  RefusePartialRequests();
  RunTasks();
  FinishConnections();
  BoundBuffers();
  WatchConnections();
  StopIfAsked();
  if (turn_.keeper != nullptr) turn_.keeper->EndTurn(turn_.now);
  DestroyClosed();
  AcceptConnections();
  turn_.server.statistics.counters.turns_us.Count((MonotonicNs() - turn_began_ns_) / 1000);
}

void TurnLoop::SetKeeper(persist::StateLog* keeper, std::function<void()> on_change) {
  turn_.keeper = keeper;
  on_keeper_change_ = std::move(on_change);
}

void TurnLoop::Wake() { wake_.Signal(); }

void TurnLoop::BeginKeeping() {
  turn_.keeper->BeginTurn(turn_.now);
  const persist::StateLogState state = turn_.keeper->state();
  if (std::exchange(keeper_state_, state) != state) on_keeper_change_();
  ReleaseHeld();
}

void TurnLoop::ReleaseHeld() {
  std::erase_if(turn_.held, [](RespConnection* one) {
    if (!one->IsReleased()) return false;
    one->NoticeRelease();
    return true;
  });
  turn_.tasks.insert(turn_.tasks.end(), turn_.held_tasks.begin(), turn_.held_tasks.end());
  turn_.held_tasks.clear();
}

engine::DurationMs TurnLoop::WaitMsMax() const {
  const bool is_work_left = is_more_due_ || turn_.is_more_ready || !turn_.to_execute.empty() ||
                            !turn_.deferred.empty() || !turn_.closed.empty() ||
                            !turn_.tasks.empty();
  if (is_work_left || is_stop_asked_ != is_stopping_) return 0;
  engine::TimeMs next = std::min(turn_.server.NextDeadline(), stop_until_);
  if (turn_.keeper != nullptr) next = std::min(next, turn_.keeper->NextDeadline());
  if (!turn_.to_watch.empty()) next = std::min(next, watch_at_);
  next = std::min(next, NextRequestDeadline());
  for (const Entrance& entrance : entrances_) {
    // Without room there will be some when somebody has told the loop that it is there.
    if (entrance.keeper.Room() == 0) continue;
    next = std::min(next, entrance.acceptor->next_accept_at());
  }
  if (next == engine::kNever) return kUntilReady;
  if (next <= turn_.now) return 0;
  return std::clamp<engine::DurationMs>(next - BoottimeMs(), 0, kTimedWaitMsMax);
}

void TurnLoop::WaitForReadiness() {
  is_turn_held_up_ = IsHeldUp();
  left_over_ = turn_.to_execute.size();
  if (is_turn_held_up_) {
    AwaitKeeper();
    turn_began_ns_ = MonotonicNs();
    return;
  }
  AwaitConnections();
  const engine::DurationMs wait_ms = WaitMsMax();
  std::size_t handled = wait_ms > 0 && IsWorthPolling() ? PollForCompletion() : 0;
  if (handled == 0 && wait_ms == kUntilReady) {
    handled = io_context_.run_one();
  } else if (handled == 0 && wait_ms > 0) {
    handled = io_context_.run_one_for(std::chrono::milliseconds(wait_ms));
  }
  turn_began_ns_ = MonotonicNs();
  if (wait_ms > 0 && handled == 0) return;
  // When connections have woken the loop, it looks for nothing else before it serves them: anything
  // else wakes it again at once. This saves a lone request one system call of six.
  const bool have_connections_woken_it = wait_ms > 0 && handled == 1 && !is_awaiting_connections_;
  if (!have_connections_woken_it) {
    while (handled < turn_.limits.handlers_max && io_context_.poll_one() > 0) ++handled;
  }
  ReceiveFromReady();
  ReceiveFromThoseBehind();
}

// Not again for the same sync when it has taken longer than a quick one.
bool TurnLoop::IsWorthPolling() {
  const persist::StateLog* const keeper = turn_.keeper;
  if (keeper == nullptr || turn_.held.size() < kHeldToPoll || !keeper->awaits_quick_sync()) {
    return false;
  }
  const std::uint64_t now_ns = MonotonicNs();
  const std::uint64_t completed = keeper->completed_batch();
  if (std::exchange(polled_behind_, completed) != completed) poll_until_ns_ = now_ns + kPollNsMax;
  return now_ns < poll_until_ns_;
}

// The sync ends sooner than this thread could sleep and be woken. Other threads may run first.
std::size_t TurnLoop::PollForCompletion() {
  std::size_t handled = 0;
  while ((handled = io_context_.poll_one()) == 0 && MonotonicNs() < poll_until_ns_) {
    std::this_thread::yield();
  }
  return handled;
}

// Signals are handled meanwhile, and time passes, but no input is read.
void TurnLoop::AwaitKeeper() {
  wake_.Await(kHeldUpMsMax);
  while (io_context_.poll_one() > 0) {
  }
}

void TurnLoop::AwaitConnections() {
  if (std::exchange(is_awaiting_connections_, true)) return;
  ready_connections_.async_wait(Descriptor::wait_read, [this](const boost::system::error_code&) {
    is_awaiting_connections_ = false;
  });
}

void TurnLoop::ReceiveFromReady() {
  turn_.is_more_ready = false;
  for (const Readiness& readiness : turn_.readiness.Collect(turn_.limits.handlers_max)) {
    // A connection that is not reached is reported again in the next turn.
    if (turn_.arena.is_full()) return;
    readiness.connection->HandleReadiness(readiness);
  }
}

// Those at the front, as many as the turn has time for; one alone has all of it.
void TurnLoop::ReceiveFromThoseBehind() {
  const bool is_alone = turn_.now - ahead_at_ > kAloneMs;
  const std::size_t bytes_max =
      turn_.limits.deferred_bytes_max * (is_alone ? kTimesTheWorkWhenAlone : 1);
  const std::size_t each = turn_.deferred.size() > 1 ? bytes_max / 2 : bytes_max;
  deferred_bytes_max_ = bytes_max;
  std::size_t bytes = 0;
  behind_to_execute_ = 0;
  while (behind_to_execute_ < turn_.deferred.size() && bytes < bytes_max) {
    if (turn_.arena.is_full()) return;
    bytes += kVisitBytes + turn_.deferred[behind_to_execute_]->ReceiveDeferred(each);
    ++behind_to_execute_;
  }
}

void TurnLoop::EndDue() {
  const engine::TimeMs due = turn_.server.NextDeadline();
  is_more_due_ = turn_.server.Advance(turn_.now, turn_.limits.timers_max);
  // 0: it is not a time that is due.
  if (due <= 0 || due > turn_.now) return;
  turn_.server.statistics.counters.expiry_lag_ms.Count(turn_.now - due);
}

void TurnLoop::CloseThoseWhoAreGone() {
  for (RespConnection* connection : turn_.to_execute) connection->CloseIfGone();
}

void TurnLoop::ExecuteRequests() {
  if (is_turn_held_up_) return;
  std::vector<RespConnection*>& all = turn_.to_execute;
  if (!all.empty()) ahead_at_ = turn_.now;
  std::size_t work = 0;
  std::size_t left = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Connections from earlier turns do not use up the time of those that have just asked: many may
    // wait for long replies.
    if (i == left_over_) work = 0;
    // A waiting connection costs no work, but its socket must still be checked.
    if (work < turn_.limits.light_bytes_max || all[i]->is_waiting()) {
      work += all[i]->Execute();
    } else {
      all[i]->KeepArrived();
      all[left++] = all[i];
    }
  }
  all.resize(left);
}

void TurnLoop::ExecuteBehind() {
  std::size_t left = std::exchange(behind_to_execute_, 0);
  std::size_t work = 0;
  // Replies may be long, which is not known before.
  for (; left > 0 && work < deferred_bytes_max_; --left) {
    RespConnection* const connection = turn_.deferred.front();
    turn_.deferred.pop_front();
    work += kVisitBytes + connection->Execute();
  }
  for (std::size_t i = 0; i < left; ++i) turn_.deferred[i]->KeepArrived();
}

engine::TimeMs TurnLoop::NextRequestDeadline() const {
  if (turn_.partial_requests.empty() || turn_.limits.request_deadline_ms == 0) {
    return engine::kNever;
  }
  return std::max(turn_.partial_requests.front().begun_at_ms() + turn_.limits.request_deadline_ms,
                  no_refusal_before_);
}

// After the execution, for the rest may have come in this very turn. After a pause of the server it
// may still lie in the sockets.
void TurnLoop::RefusePartialRequests() {
  if (IsHeldUp()) return;
  const engine::TimeMs seen_at = std::exchange(request_deadlines_seen_at_, turn_.now);
  if (turn_.now - seen_at > 2 * kTimedWaitMsMax) no_refusal_before_ = turn_.now + kTimedWaitMsMax;
  // Each refusal costs some system calls; those that are left have the next turn at once.
  for (std::size_t i = 0; i < turn_.limits.closes_max && NextRequestDeadline() <= turn_.now; ++i) {
    static_cast<RespConnection&>(turn_.partial_requests.front()).RefusePartialRequest();
  }
}

void TurnLoop::BoundBuffers() {
  const command::ServerGauges& gauges = turn_.server.statistics.gauges;
  CloseThoseWithMost(&RespConnection::unread_bytes, gauges.unread_reply_bytes,
                     turn_.limits.all_output_bytes_max, CloseReason::kAllOutputLimit);
  CloseThoseWithMost(&RespConnection::input_bytes, gauges.unexecuted_input_bytes,
                     turn_.limits.all_input_bytes_max, CloseReason::kAllInputLimit);
}

// Connections that have not logged in come first: they must not cost others anything.
void TurnLoop::CloseThoseWithMost(std::size_t (RespConnection::*bytes_of)() const,
                                  const std::uint64_t& all, std::size_t bytes_max,
                                  CloseReason reason) {
  if (all <= bytes_max || bytes_max == 0) return;
  std::vector<RespConnection*> owners;
  for (RespConnection& connection : connections_) {
    if ((connection.*bytes_of)() > 0) owners.push_back(&connection);
  }
  std::ranges::sort(owners, std::greater(), [bytes_of](const RespConnection* one) {
    return std::pair(!one->is_logged_in(), (one->*bytes_of)());
  });
  // A little more than need be, so that it is not done again in each turn.
  const std::size_t bytes_kept = bytes_max - bytes_max / 8;
  for (std::size_t i = 0; i < owners.size() && all > bytes_kept; ++i) owners[i]->Close(reason);
  // What they left may have been granted to others.
  FinishConnections();
}

void TurnLoop::RunTasks() {
  // What they change now would not be kept.
  if (is_stopping_) turn_.tasks.clear();
  // A task that is added meanwhile is for the next turn. The next turn also continues with those
  // that are left after much has been matched for the tasks before them.
  const command::MatchingMeter& matching = turn_.server.matching;
  const std::uint64_t matched_max =
      matching.total() + turn_.limits.light_bytes_max * command::MatchingMeter::kWorkPerByte;
  std::size_t left = turn_.tasks.size();
  for (; left > 0 && !turn_.tasks.empty() && matching.total() <= matched_max; --left) {
    TurnTask* const task = turn_.tasks.front();
    turn_.tasks.erase(turn_.tasks.begin());
    task->TakeTurn(turn_.now);
  }
}

void TurnLoop::FinishConnections() {
  // A connection that closes may make room for others, who then have output: the list grows.
  for (std::size_t i = 0; i < turn_.to_finish.size(); ++i) turn_.to_finish[i]->Finish();
  turn_.to_finish.clear();
}

void TurnLoop::WatchConnections() {
  std::vector<RespConnection*>& watched = turn_.to_watch;
  if (watched.empty() || turn_.now < watch_at_) return;
  watch_at_ = turn_.now + kWatchEveryMs;
  std::erase_if(watched, [](RespConnection* one) { return one->StopsBeingWatched(); });
  std::vector<pollfd> polled;
  polled.reserve(watched.size());
  for (RespConnection* connection : watched) {
    polled.push_back({.fd = connection->socket(), .events = POLLRDHUP, .revents = 0});
  }
  if (::poll(polled.data(), polled.size(), 0) < 0) return;
  for (std::size_t i = 0; i < watched.size(); ++i) watched[i]->Watch(polled[i].revents);
  // What they left may have been granted to others.
  FinishConnections();
}

void TurnLoop::DestroyClosed() {
  if (turn_.closed.empty()) return;
  const auto is_closed = [](const RespConnection* one) { return one->is_closed(); };
  std::erase_if(turn_.to_execute, is_closed);
  std::erase_if(turn_.deferred, is_closed);
  std::erase_if(turn_.to_watch, is_closed);
  std::erase_if(turn_.held, is_closed);
  for (std::size_t i = 0; i < turn_.limits.closes_max && !turn_.closed.empty(); ++i) {
    RespConnection* const connection = turn_.closed.front();
    turn_.closed.pop_front();
    connections_.erase(connections_.iterator_to(*connection));
    delete connection;
  }
}

void TurnLoop::AcceptConnections() {
  for (const Entrance& entrance : entrances_) {
    const std::size_t accepts_max = std::min(turn_.limits.accepts_max, entrance.keeper.Room());
    entrance.acceptor->Accept(accepts_max, turn_.now, entrance.keeper);
  }
}

void TurnLoop::TakeConnection(int descriptor, command::ClientAddress address) {
  if (const auto refusal = WhyRefused(address)) {
    return Refuse(descriptor, address, *refusal, nullptr);
  }
  Add(descriptor, std::move(address), nullptr);
}

void TurnLoop::TakeTlsConnection(std::unique_ptr<TlsSocket> tls, command::ClientAddress address) {
  const int descriptor = tls->socket();
  if (const auto refusal = WhyRefused(address)) {
    return Refuse(descriptor, address, *refusal, tls.get());
  }
  Add(descriptor, std::move(address), std::move(tls));
}

std::optional<Refusal> TurnLoop::WhyRefused(const command::ClientAddress& address) const {
  if (is_stopping_ || connections() >= connections_max_) {
    return Refusal{.connections_max = connections_max_};
  }
  if (turn_.addresses.IsFull(address.peer)) {
    return Refusal{.is_by_address = true, .connections_max = turn_.addresses.count_max()};
  }
  return std::nullopt;
}

void TurnLoop::Refuse(int descriptor, const command::ClientAddress& address, const Refusal& refusal,
                      TlsSocket* tls) {
  ++turn_.server.statistics.counters.connections_rejected;
  if (refusal.is_by_address) ++turn_.server.statistics.counters.rejected_by_address;
  const std::string text = TextOf(refusal);
  // A new socket has room for one line; if not, the client sees the end of the connection.
  if (tls != nullptr) {
    tls->Send(text);
    tls->SendEnd();
  } else {
    [[maybe_unused]] const ssize_t sent =
        ::send(descriptor, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  ::close(descriptor);
  turn_.events.LogRefused(address.peer, refusal, turn_.now);
}

void TurnLoop::Add(int descriptor, command::ClientAddress address, std::unique_ptr<TlsSocket> tls) {
  const std::string user = tls != nullptr && certificates_log_in_ ? tls->PeerName() : "";
  auto* connection = new RespConnection(turn_, descriptor, std::move(address), std::move(tls));
  if (!user.empty()) connection->LogInAs(user);
  connections_.push_back(*connection);
  turn_.events.LogOpened(connection->profile());
  if (!connection->Start()) {
    LogAcceptFailed(errno);
    connection->Close(CloseReason::kPeerFailed);
  }
}

void TurnLoop::LogAcceptFailed(int error) { turn_.events.LogAcceptFailed(error, turn_.now); }

void TurnLoop::StopIfAsked() {
  if (!is_stop_asked_) return;
  if (!std::exchange(is_stopping_, true)) {
    stop_until_ = turn_.now + turn_.limits.stop_ms;
    for (const Entrance& entrance : entrances_) entrance.acceptor->Close();
    if (turn_.keeper != nullptr) StopKeeping();
    turn_.server.locks.engine().Freeze();
    for (RespConnection& connection : connections_) connection.End();
  } else if (turn_.now >= stop_until_) {
    for (RespConnection& connection : connections_) connection.Close(CloseReason::kServerStops);
  }
  FinishConnections();
}

// Replies leave first, as far as their batches are complete. Then the state is written for the last
// time, with the places of those who wait: what the end of a connection would change from here on
// would not be in it.
void TurnLoop::StopKeeping() {
  turn_.keeper->Seal(turn_.now);
  turn_.keeper->AwaitJournal();
  ReleaseHeld();
  FinishConnections();
  turn_.keeper->Stop(turn_.now);
}

void TurnLoop::CloseEverything() {
  for (const Entrance& entrance : entrances_) entrance.acceptor->Close();
  for (RespConnection& connection : connections_) connection.Close(CloseReason::kServerStops);
  turn_.to_execute.clear();
  turn_.deferred.clear();
  turn_.to_finish.clear();
  // The readiness set owns its descriptor.
  ready_connections_.release();
  // Each wait that was pending comes back once more, as aborted.
  const auto is_pending = [](const Entrance& entrance) {
    return !entrance.acceptor->is_disposable();
  };
  do {
    io_context_.restart();
    io_context_.poll();
  } while (is_awaiting_connections_ || std::ranges::any_of(entrances_, is_pending));
  while (!turn_.closed.empty()) DestroyClosed();
}

}  // namespace fairlock::net
