// Takes a lock, holds it, and releases it, as the options of `fairlockctl run` say.
#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/lock_arguments.h"
#include "cli/base/clock.h"
#include "cli/base/result.h"
#include "cli/connection/async_connection.h"
#include "cli/connection/settings.h"
#include "protocol/reply.h"

namespace fairlock::cli {

// The options of `fairlockctl run`.
struct RunOptions {
  std::vector<std::string> keys;  // several: all or none
  std::string owner;
  bool is_owner_given = false;  // by the user, so another process may use the same one
  LockArguments words;          // no `ttl_ms`: only a session; `wait_ms` is always set
  bool is_session = false;
  DurationMs grace_ms = 0;
  DurationMs kill_after_ms = 0;
  DurationMs kill_margin_ms = 0;   // SIGKILL is sent this long before the hold may end
  DurationMs report_every_ms = 0;  // without a terminal: how often to report the wait; 0: never
  int conflict_exit_code = kExitNotObtained;
  bool is_json = false;  // the program's own messages on standard error are JSON
  std::vector<std::string> command;
};

// Never blocks: the owner polls Interest(), and calls Advance() when it is ready or at WakeAt().
//
// Never reports the lock as held for longer than it can prove. A lease counts from the time of the
// request; a session counts only while its connection lives; and a grant after a wait counts only
// once it is confirmed, because the reply may have lain in the socket for longer than the lease.
//
// Learns from the channels of its keys, over the same connection, that a hold has ended. Regular
// checks detect this too, but later; they are needed because a user may be allowed to lock a key
// but not to subscribe to its channel.
class LockSession {
 public:
  enum class State : std::uint8_t {
    kAsking,      // it is in the queue, or about to join it
    kConfirming,  // granted, not confirmed yet
    kHeld,
    kReleasing,
    // Final states:
    kReleased,  // or never obtained
    kDenied,    // reason() says why; failure() names the first holder, if there is one
    kFailed,    // failure() returns the error
    kLost,      // reason() says why
  };

  LockSession(const RunOptions& options, const Settings& settings, Login login);

  void Start(TimeMs now);
  // Releases the hold, or leaves the queue.
  void BeginRelease(TimeMs now);
  // Releases the other keys after a loss. Does nothing if there was only one.
  void BeginPartialRelease(TimeMs now);

  pollfd Interest() const { return connection_.Interest(); }
  TimeMs WakeAt() const;
  void Advance(TimeMs now);

  State state() const { return state_; }
  std::int64_t token() const { return token_; }
  const std::string& reason() const { return reason_; }
  const Failure& failure() const { return failure_; }
  // When to tell the command to end, so that the hold outlives it; kForever if that is not known.
  TimeMs StopAt() const;
  std::string StopReason() const;

 private:
  enum class Request : std::uint8_t { kLock, kSubscribe, kConfirm, kRejoin, kUnlock };
  struct Sent {
    Request request;
    TimeMs at;
    TimeMs due_at;  // if no reply comes by then, the connection is closed
  };

  bool IsOver() const { return state_ >= State::kReleased; }
  // Whether an operator wants the lock back (BREAK with GRACE). It is held until the grace is over.
  bool IsLeaving() const { return state_ == State::kHeld && lease_.leaving_since != kForever; }
  TimeMs HeldUntil() const;
  TimeMs GiveUpAt() const;
  TimeMs AnswerDueAt() const;

  void Send(Request request, const std::vector<std::string>& words, TimeMs now, TimeMs due_at);
  void SendLock(TimeMs now);
  void SendCheck(TimeMs now);
  void Listen(TimeMs now);
  void SendRejoin(TimeMs now);
  void SendUnlock(TimeMs now);
  std::vector<std::string> LockRequestAt(TimeMs now) const;

  void HandleReply(const protocol::Reply& reply, TimeMs now);
  void HandlePush(const protocol::Reply& push, TimeMs now);
  void HandleError(const protocol::Reply& reply, Request request, TimeMs now);
  // Turns to the leader of the keys' partition. Nothing was executed.
  void Follow(const ServerAddress& leader, Failure failure, TimeMs now);
  void TurnToNextServer(const protocol::Reply& refusal, TimeMs now);
  void HandleLock(const protocol::Reply& reply, TimeMs now);
  void HandleConfirmation(const protocol::Reply& reply, const Sent& sent, TimeMs now);
  void HandleRejoined(const protocol::Reply& reply, TimeMs now);
  void HandleUnlocked(const protocol::Reply& reply);

  void OnReady();
  void OnDisconnect(const Failure& why, TimeMs now);
  void Reopen(TimeMs now);
  void RunTimers(TimeMs now);
  void GiveUp(TimeMs now);
  void OnLost(std::string reason);
  void Fail(Failure failure);

  RunOptions options_;
  Settings settings_;
  AsyncConnection connection_;
  State state_ = State::kAsking;
  std::deque<Sent> sent_;  // requests in flight, in order

  TimeMs wait_until_ = 0;
  TimeMs opened_at_ = 0;
  bool was_connected_ = false;
  bool may_own_ = false;  // whether a request that takes the lock may have been executed
  int redirects_ = 0;     // without any other reply in between
  TimeMs unreachable_since_ = kForever;
  bool was_refused_ = false;  // whether a connection was refused since unreachable_since_
  TimeMs reopen_at_ = kForever;
  DurationMs backoff_ms_ = 0;

  std::int64_t token_ = 0;
  struct {
    TimeMs until = kForever;          // kForever if there is no lease
    TimeMs leaving_since = kForever;  // kForever if no operator has asked for the lock
  } lease_;
  TimeMs send_at_ = kForever;        // when to send the next LOCK or check
  bool is_listening_ = false;        // subscribed on this connection
  bool is_partial_release_ = false;  // releasing the keys that remain after a loss
  TimeMs release_until_ = kForever;

  std::string reason_;
  Failure failure_;
};

}  // namespace fairlock::cli
