// Takes a lock, and holds it for as long as it is needed.
#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "cli/base/clock.h"
#include "cli/base/result.h"
#include "cli/connection/settings.h"
#include "cli/connection/wire.h"
#include "cli/run/run_options.h"
#include "protocol/reply.h"

namespace fairlock::cli {

// Never blocks: whoever polls it calls Advance() when Interest() has happened or WakeAt() has come.
//
// What it says of the hold is never too good. A lease counts from the moment at which it was asked
// for, a session only while its connection lives, and a grant that came out of a wait is confirmed
// before it counts: its token may have lain in the socket for longer than the lease.
//
// The end of a hold is heard on the channels of its keys, on the same connection. Asking again and
// again finds it too, if later: a user may be allowed to lock a key and not to listen to it.
class LockKeeper {
 public:
  enum class State : std::uint8_t {
    kAsking,      // in line, or about to be
    kConfirming,  // granted
    kHeld,
    kReleasing,
    // The end:
    kReleased,  // or never taken
    kDenied,    // by the rules; reason() says which
    kFailed,    // failure() says why
    kLost,      // reason() says how
  };

  LockKeeper(const RunOptions& options, const Settings& settings, Login login);

  void Start(TimeMs now);
  // Gives up the hold, or the place in the queue.
  void BeginRelease(TimeMs now);
  // After a loss: gives up what is left of several keys. Does nothing if there was but one.
  void BeginReleaseOfRest(TimeMs now);

  pollfd Interest() const { return wire_.Interest(); }
  TimeMs WakeAt() const;
  void Advance(TimeMs now);

  State state() const { return state_; }
  std::int64_t token() const { return token_; }
  const std::string& reason() const { return reason_; }
  const Failure& failure() const { return failure_; }
  bool is_unreachable() const { return unreachable_since_ != kForever; }
  std::string ServerName() const { return wire_.ServerName(); }

 private:
  enum class Request : std::uint8_t { kLock, kSubscribe, kConfirm, kRejoin, kUnlock };
  struct Sent {
    Request request;
    TimeMs at;
    TimeMs due_at;  // no answer by then: the connection is of no use
  };

  bool IsOver() const { return state_ >= State::kReleased; }
  TimeMs HeldUntil() const;
  TimeMs GiveUpAt() const;
  TimeMs AnswerDueAt() const;

  void Send(Request request, const std::vector<std::string>& words, TimeMs now, TimeMs due_at);
  void AskForLock(TimeMs now);
  void AskWhetherHeld(TimeMs now);
  void Listen(TimeMs now);
  void AskToRejoin(TimeMs now);
  void AskToUnlock(TimeMs now);
  std::vector<std::string> LockWordsNow(TimeMs now) const;

  void TakeReply(const protocol::Reply& reply, TimeMs now);
  void TakePush(const protocol::Reply& push, TimeMs now);
  void TakeError(const protocol::Reply& reply, Request request, TimeMs now);
  void TakeLock(const protocol::Reply& reply, TimeMs now);
  void TakeConfirmation(const protocol::Reply& reply, const Sent& sent, TimeMs now);
  void TakeRejoined(const protocol::Reply& reply, TimeMs now);
  void TakeUnlocked(const protocol::Reply& reply);

  void GoOnAfterConnecting();
  void OnDisconnect(const Failure& why, TimeMs now);
  void Reopen(TimeMs now);
  void RunTimers(TimeMs now);
  void GiveUp(TimeMs now);
  void Lose(std::string reason);
  void Fail(Failure failure);

  RunOptions options_;
  Settings settings_;
  Wire wire_;
  State state_ = State::kAsking;
  std::deque<Sent> sent_;  // not answered yet, in order

  TimeMs wait_until_ = 0;
  TimeMs opened_at_ = 0;
  bool was_connected_ = false;
  TimeMs unreachable_since_ = kForever;
  bool was_refused_ = false;  // since then
  TimeMs reopen_at_ = kForever;
  DurationMs backoff_ms_ = 0;

  std::int64_t token_ = 0;
  TimeMs lease_until_ = kForever;  // without a lease: for ever
  TimeMs ask_at_ = kForever;       // the next request, of the kind that the state needs
  bool is_listening_ = false;      // on this connection
  bool is_rest_ = false;           // what is released is what a loss has left
  TimeMs release_until_ = kForever;

  std::string reason_;
  Failure failure_;
};

}  // namespace fairlock::cli
