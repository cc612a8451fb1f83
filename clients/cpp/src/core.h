// The part of a client that outlives moves: its thread, its connections, its holds and waits.
#pragma once

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "link.h"
#include "servers.h"
#include "terms.h"

namespace fairlock::client {

// A release, or a transfer, is repeated for this time.
inline constexpr Duration kRepeatTime = std::chrono::seconds(5);

inline Duration Until(Time time) {
  return std::max(Duration(0), std::chrono::ceil<Duration>(time - BootClock::now()));
}

// A hold as this process sees it. Thread-safe. A hold that has ended never begins again.
class HoldState {
 public:
  HoldState(std::weak_ptr<Core> core, Terms terms, std::int64_t token, Time sent_at);

  const std::weak_ptr<Core> core;
  const Terms terms;
  const std::int64_t token;
  // The pause of the renewal. The renewal owns it, because a hold may outlive the client. For the
  // client's thread.
  std::weak_ptr<boost::asio::steady_timer> pause;

  void Check() const;  // throws LostHold unless the lock is certainly held
  void EndPause() const;
  [[nodiscard]] bool IsOfThisProcess() const;
  [[nodiscard]] std::string Lost() const;  // why; empty if it is not lost
  [[nodiscard]] Time Deadline() const;     // the lease ends no earlier than this
  [[nodiscard]] Time RenewAt() const;
  [[nodiscard]] Duration Lease() const;  // what the next renewal asks for
  [[nodiscard]] bool IsOver() const;
  bool End();  // its owner ends it; false if it has ended before
  void Lose(const std::string& reason);
  void SetLease(Duration lease);
  // Takes note of a renewal. None shortens the lease, in whichever order the server executes
  // renewals and replies to them.
  void Extend(Time deadline);

  // A transfer is sent. From now on, only a refusal by the server makes the hold certain again: a
  // request that is still on its way may be executed after anything that is asked meanwhile.
  void BeginTransfer(const std::string& heir);
  void RefuseTransfer();  // the server did not execute it, so the hold is what it was
  void EndTransfer();     // the hold is lost unless the transfer was confirmed or refused

 private:
  std::string LostLocked() const;
  void LoseLocked(const std::string& reason);

  const int process_;
  mutable std::mutex mutex_;
  mutable std::string lost_;
  bool is_over_ = false;
  struct {
    std::string heir;    // the heir of a transfer that was sent and not answered
    std::string rumour;  // why the hold may be lost, unless that was the transfer itself
  } transfer_;
  Duration lease_;
  Time deadline_;
};

// Receives the messages about one key and owner, for a wait or for the hold that the wait became.
using ListenerPtr = std::shared_ptr<const Listener>;

// An acquisition. Loop-confined.
struct Waiting {
  explicit Waiting(boost::asio::io_context& io) : wake(io) {}

  void Cancel();

  boost::asio::steady_timer wake;
  ListenerPtr listener;
  std::deque<Message> messages;
  bool is_cancelled = false;
  bool has_asked = false;                   // the server may know of it
  boost::asio::cancellation_signal signal;  // cancels its coroutine
  std::optional<std::stop_callback<std::function<void()>>> on_stop;
};

class Core : public std::enable_shared_from_this<Core> {
 public:
  explicit Core(Settings settings);

  void Stop();  // waits for what has begun

  void Lock(Terms terms, bool is_try, std::stop_token stop, Done<Hold> done);
  void Renew(const std::shared_ptr<HoldState>& state, std::optional<Duration> lease,
             Done<bool> done);
  void Release(const std::shared_ptr<HoldState>& state, Done<bool> done);
  void Transfer(const std::shared_ptr<HoldState>& state, std::string new_owner,
                Done<std::int64_t> done);

 private:
  using Name = std::pair<std::string, std::string>;  // key and owner
  using StatePtr = std::shared_ptr<HoldState>;
  using WaitingPtr = std::shared_ptr<Waiting>;
  template <typename Result>
  using Flow = boost::asio::awaitable<Result>;

  struct Grant {
    std::int64_t token = 0;
    Time sent_at{};
  };
  // The rest of a wait; it has no end without a time.
  struct Patience {
    std::optional<Time> end;
    [[nodiscard]] std::optional<Duration> Left() const;
    [[nodiscard]] Duration Limit() const;
  };

  template <typename Result>
  void Start(Flow<Result> flow, Done<Result> done, boost::asio::cancellation_slot slot = {});

  Flow<Hold> Acquire(Terms terms, bool is_try, WaitingPtr waiting);
  Flow<Grant> AskUntilDecided(const Terms& terms, Patience patience, bool waits,
                              WaitingPtr waiting);
  Flow<Grant> AskOnce(const Terms& terms, Patience patience, bool waits, WaitingPtr waiting);
  Flow<Grant> Listen(const Terms& terms, Patience patience, Time sent_at, WaitingPtr waiting);
  Flow<Grant> Confirm(const Terms& terms, std::int64_t token, Time sent_at, bool always = false);
  Flow<bool> IsEarlier(const Terms& terms, Patience patience, const Message& message);
  Flow<Grant> AskWhy(const Terms& terms);
  Flow<void> Leave(const Terms& terms, WaitingPtr waiting, bool is_last_try);
  Flow<bool> Abandon(Terms terms, ListenerPtr listener, bool is_last_try);
  Flow<void> Pause(WaitingPtr waiting, Duration time);
  Flow<Answer> Ask(const Terms& terms, Command command, Duration limit);

  Flow<bool> RenewOnce(StatePtr state, std::optional<Duration> lease);
  Flow<bool> ReleaseNow(StatePtr state);
  Flow<std::int64_t> TransferNow(StatePtr state, std::string new_owner);
  Flow<std::optional<std::int64_t>> AskTransfer(StatePtr state, std::string new_owner);
  Flow<void> AskRenewal(StatePtr state, Duration lease);
  Flow<void> RenewUntilAnswered(StatePtr state, boost::asio::steady_timer& pause);
  Flow<void> Watch(StatePtr state, ListenerPtr listener);

  // Replaces an earlier listener, which hears that its wait was superseded: the server sends no
  // such message if both waits use this connection.
  void Follow(const Terms& terms, const ListenerPtr& listener);
  // Does nothing for keys that another listener has taken over.
  void Unfollow(const Terms& terms, const ListenerPtr& listener);
  [[nodiscard]] bool IsFollowing(const Terms& terms, const ListenerPtr& listener) const;
  void Deliver(const Message& message);
  void StopIfIdle();

  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::map<Name, ListenerPtr> listeners_;
  std::set<WaitingPtr> waiting_;
  int operations_ = 0;
  bool is_stopping_ = false;
  const int process_;
  std::unique_ptr<Servers> servers_;
  std::thread thread_;
};

template <typename Result>
void Core::Start(Flow<Result> flow, Done<Result> done, boost::asio::cancellation_slot slot) {
  ++operations_;
  auto handler = [this, done = std::move(done)](std::exception_ptr error, Result result) {
    done(error, std::move(result));
    --operations_;
    StopIfIdle();
  };
  boost::asio::co_spawn(io_, std::move(flow),
                        boost::asio::bind_cancellation_slot(slot, std::move(handler)));
}

}  // namespace fairlock::client
