#include "core.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <cinttypes>
#include <cstdio>
#include <random>

namespace fairlock::client {

namespace asio = boost::asio;
using asio::awaitable;

namespace {

using namespace std::chrono_literals;

// The server ends a wait itself. The client waits this much longer before it suspects that the
// message was lost.
constexpr Duration kGrace = 5s;
// A cancelled wait ends as soon as the server confirms that nothing is left of it, but no later
// than this. The client then goes on with the release.
constexpr Duration kCancelTime = 500ms;
// A grant that arrives later than this part of the lease after its request is confirmed by RENEW,
// from which the lease then counts: the time of the grant itself is not known here.
constexpr int kLatePart = 10;
// The server counts milliseconds, so its message may arrive earlier than the wait is over here.
constexpr Duration kEarly = 5ms;

std::string MakeOwner() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  // std::random_device asks the processor for its features each time, which traps in a virtual
  // machine. This took a tenth of the time of a lock.
  std::uint64_t number = 0;
  if (getentropy(&number, sizeof number) != 0) number = std::random_device{}();
  char part[17] = "";
  std::snprintf(part, sizeof part, "%016" PRIx64, number);
  return std::string(host) + ":" + std::to_string(getpid()) + ":" + part;
}

std::exception_ptr Cancelled() {
  return std::make_exception_ptr(boost::system::system_error(asio::error::operation_aborted));
}

void CheckTerms(const Terms& terms) {
  if (terms.keys.empty()) throw Refused("a lock needs at least one key");
  if (terms.options.lease <= 0ms) throw Refused("lease must be greater than 0");
  if (terms.options.shared && terms.options.limit) {
    throw Refused("a lock is either shared or has a limit, got both");
  }
}

}  // namespace

std::optional<Duration> Core::Patience::Left() const {
  return end ? std::optional(Until(*end)) : std::nullopt;
}

Duration Core::Patience::Limit() const { return end ? Until(*end) + kGrace : kForever; }

Core::Core(Settings settings)
    : work_(asio::make_work_guard(io_)),
      process_(getpid()),
      servers_(MakeServers(io_, std::move(settings), MakeOwner(),
                           [this](const Message& message) { Deliver(message); })),
      thread_([this] { io_.run(); }) {}

void Core::Stop() {
  if (getpid() != process_) {
    // The thread is the parent's, and closing a socket here would silence it there.
    new std::shared_ptr<Core>(shared_from_this());
    return;
  }
  asio::post(io_, [this] {
    is_stopping_ = true;
    for (const auto& waiting : waiting_) waiting->Cancel();
    StopIfIdle();
  });
  thread_.join();
}

void Waiting::Cancel() {
  is_cancelled = true;
  signal.emit(asio::cancellation_type::terminal);
}

void Core::StopIfIdle() {
  if (is_stopping_ && operations_ == 0) io_.stop();
}

void Core::Lock(Terms terms, bool is_try, std::stop_token stop, Done<Hold> done) {
  terms.is_named = !terms.owner.empty();
  if (!terms.is_named) terms.owner = MakeOwner();
  auto waiting = std::make_shared<Waiting>(io_);
  // Called in any thread. The timer of the wait must not outlive the client.
  const auto cancel = [core = weak_from_this(), weak = std::weak_ptr(waiting)] {
    const auto self = core.lock();
    if (!self) return;
    asio::post(self->io_, [weak] {
      if (const auto its = weak.lock()) its->Cancel();
    });
  };
  asio::post(
      io_, [this, terms = std::move(terms), is_try, waiting, stop, cancel, done = std::move(done)] {
        waiting->is_cancelled = is_stopping_ || stop.stop_requested();
        waiting->on_stop.emplace(stop, cancel);
        waiting_.insert(waiting);
        const auto end = [this, waiting, done](std::exception_ptr error, Hold hold) {
          waiting_.erase(waiting);
          done(error, std::move(hold));
        };
        Start<Hold>(Acquire(terms, is_try, waiting), end, waiting->signal.slot());
      });
}

awaitable<Hold> Core::Acquire(Terms terms, bool is_try, WaitingPtr waiting) {
  co_await asio::this_coro::throw_if_cancelled(false);
  CheckTerms(terms);
  const auto wait = is_try ? std::optional(0ms) : terms.options.wait;
  Patience patience;
  if (wait) patience.end = BootClock::now() + *wait;
  const auto hear = [weak = std::weak_ptr(waiting)](const Message& message) {
    const auto its = weak.lock();
    if (!its) return;
    its->messages.push_back(message);
    its->wake.cancel();
  };
  waiting->listener = std::make_shared<const Listener>(hear);
  Follow(terms, waiting->listener);
  Grant grant;
  std::exception_ptr error;
  bool is_unreachable = false;
  try {
    grant = co_await AskUntilDecided(terms, patience, !wait || *wait > 0ms, waiting);
  } catch (const ConnectionFailed&) {
    error = std::current_exception();
    is_unreachable = true;
  } catch (const Error&) {
    error = std::current_exception();
    waiting->has_asked = false;
  } catch (const boost::system::system_error&) {  // cancelled
    error = std::current_exception();
  }
  if (error != nullptr) {
    co_await Leave(terms, waiting, is_unreachable);
    std::rethrow_exception(error);
  }
  auto state = std::make_shared<HoldState>(weak_from_this(), terms, grant.token, grant.sent_at);
  const auto listener = std::make_shared<const Listener>([state](const Message& message) {
    if (message.event != "lost" || message.token != state->token) return;
    state->Lose("the server reported: " + message.reason);
    state->EndPause();
  });
  for (const auto& message : waiting->messages) (*listener)(message);
  Follow(terms, listener);
  asio::co_spawn(io_, Watch(state, listener), asio::detached);
  co_return Hold(state);
}

// Asks again while the server cannot be reached. The same owner keeps its place.
awaitable<Core::Grant> Core::AskUntilDecided(const Terms& terms, Patience patience, bool waits,
                                             WaitingPtr waiting) {
  Pauses pauses;
  while (true) {
    std::exception_ptr error;
    try {
      if (waiting->is_cancelled) std::rethrow_exception(Cancelled());
      co_return co_await AskOnce(terms, patience, waits, waiting);
    } catch (const ConnectionFailed&) {
      error = std::current_exception();
    }
    const auto left = patience.Left();
    if (left == 0ms) std::rethrow_exception(error);
    const auto pause = pauses.Next();
    co_await Pause(waiting, left ? std::min(*left, pause) : pause);
  }
}

awaitable<Answer> Core::Ask(const Terms& terms, Command command, Duration limit) {
  return servers_->Ask(terms.keys.front(), std::move(command), limit);
}

awaitable<void> Core::Pause(WaitingPtr waiting, Duration time) {
  if (waiting->is_cancelled) co_return;
  waiting->wake.expires_after(time);
  co_await waiting->wake.async_wait(kQuietly);
}

awaitable<Core::Grant> Core::AskOnce(const Terms& terms, Patience patience, bool waits,
                                     WaitingPtr waiting) {
  // With NOTIFY, the server would let a request without WAIT wait.
  const auto command =
      terms.Lock(patience.Left(), waits ? servers_->Channel(terms.keys.front()) : "");
  // An attempt to connect ends by itself. Even a request that does not wait is allowed one.
  co_await servers_->AwaitConnection(terms.keys.front(), kForever);
  if (!IsFollowing(terms, waiting->listener)) {
    throw WaitEnded("superseded: a newer request of the same owner ended this wait");
  }
  waiting->has_asked = true;
  // A message about an earlier request must not be taken for the answer to this one.
  waiting->messages.clear();
  const auto answer = co_await Ask(terms, command, kForever);
  if (waiting->is_cancelled) std::rethrow_exception(Cancelled());
  auto explanation = ParseExplanation(answer.reply);
  if (explanation.status == "queued" && waits) {
    co_return co_await Listen(terms, patience, answer.sent_at, waiting);
  }
  if (!explanation.token) throw Denied(std::move(explanation));
  co_return co_await Confirm(terms, *explanation.token, answer.sent_at);
}

awaitable<Core::Grant> Core::Listen(const Terms& terms, Patience patience, Time sent_at,
                                    WaitingPtr waiting) {
  const auto give_up_at = BootClock::now() + patience.Limit();
  while (true) {
    while (waiting->messages.empty() && !waiting->is_cancelled && BootClock::now() < give_up_at) {
      co_await Pause(waiting, std::min(Until(give_up_at), kForever));
    }
    if (waiting->is_cancelled) std::rethrow_exception(Cancelled());
    if (waiting->messages.empty()) throw Temporary("the outcome of the wait was not received");
    const Message message = waiting->messages.front();
    waiting->messages.pop_front();
    if (message.event == "subscribed") throw Temporary("the connection was lost");
    if (message.event == "granted" && message.token) {
      co_return co_await Confirm(terms, *message.token, sent_at, terms.is_named);
    }
    if (co_await IsEarlier(terms, patience, message)) continue;
    if (message.event == "timeout") co_return co_await AskWhy(terms);
    if (message.event == "cancelled" && message.reason == "deadlock") {
      throw Deadlock("the wait would never end");
    }
    if (message.event == "cancelled" || message.event == "superseded") {
      throw WaitEnded(message.event + ": another request ended this wait");
    }
  }
}

// Whether the message reports the end of an earlier wait of the same owner.
awaitable<bool> Core::IsEarlier(const Terms& terms, Patience patience, const Message& message) {
  const auto left = patience.Left();
  const bool is_on_time = message.event == "timeout" && left && *left <= kEarly;
  const bool is_doubtful =
      message.event == "cancelled" || (message.event == "timeout" && !is_on_time);
  if (!terms.is_named || !is_doubtful) co_return false;
  const auto answer = co_await Ask(terms, terms.Position(), kForever);
  co_return answer.reply.kind != Value::Kind::kNil;  // it still waits
}

awaitable<Core::Grant> Core::Confirm(const Terms& terms, std::int64_t token, Time sent_at,
                                     bool always) {
  const auto lease = terms.options.lease;
  if (always || BootClock::now() - sent_at > lease / kLatePart) {
    const auto answer = co_await Ask(terms, terms.Renew(token, lease), kForever);
    if (answer.reply.integer != 1) {
      throw Temporary("the lease ended before its grant was confirmed");
    }
    sent_at = answer.sent_at;
  }
  Grant grant{token, sent_at};
  co_return grant;
}

// Asks once more, without waiting, because the message about a time-out names no holders.
awaitable<Core::Grant> Core::AskWhy(const Terms& terms) {
  const auto answer = co_await Ask(terms, terms.Lock(0ms, ""), kForever);
  auto explanation = ParseExplanation(answer.reply);
  if (explanation.token) co_return co_await Confirm(terms, *explanation.token, answer.sent_at);
  explanation.status = "timeout";
  throw Denied(std::move(explanation));
}

// Ends a wait that failed. The caller is kept waiting only for a moment.
awaitable<void> Core::Leave(const Terms& terms, WaitingPtr waiting, bool is_last_try) {
  if (!waiting->has_asked) {
    Unfollow(terms, waiting->listener);
    co_return;
  }
  const auto end = std::make_shared<asio::steady_timer>(io_, kCancelTime);
  Start<bool>(Abandon(terms, waiting->listener, is_last_try),
              [end](const std::exception_ptr&, bool) {
                end->expires_at(asio::steady_timer::time_point::min());
              });
  co_await end->async_wait(kQuietly);
}

// Releases what an interrupted request may have got: a place in the queue, or a hold. It follows
// that request on the same connection. If the server could not be reached until the end of the
// wait, a single attempt must do. A newer request of the same owner takes over what there is.
awaitable<bool> Core::Abandon(Terms terms, ListenerPtr listener, bool is_last_try) {
  const auto give_up_at = BootClock::now() + (is_last_try ? 0ms : kRepeatTime);
  Pauses pauses;
  while (IsFollowing(terms, listener)) {
    try {
      co_await Ask(terms, terms.Unlock(), kRepeatTime);
      break;
    } catch (const ConnectionFailed&) {
      if (BootClock::now() >= give_up_at) break;
    } catch (const Error&) {
      break;
    }
    asio::steady_timer pause(io_, pauses.Next());
    co_await pause.async_wait(kQuietly);
  }
  Unfollow(terms, listener);
  co_return true;
}

void Core::Follow(const Terms& terms, const ListenerPtr& listener) {
  for (const auto& key : terms.keys) {
    const auto earlier = std::exchange(listeners_[{key, terms.owner}], listener);
    if (!earlier) servers_->Listen(key);
    if (earlier) (*earlier)({"superseded", key, terms.owner, std::nullopt, {}});
  }
}

void Core::Unfollow(const Terms& terms, const ListenerPtr& listener) {
  for (const auto& key : terms.keys) {
    const auto found = listeners_.find({key, terms.owner});
    if (found == listeners_.end() || found->second != listener) continue;
    listeners_.erase(found);
    servers_->Unlisten(key);
  }
}

bool Core::IsFollowing(const Terms& terms, const ListenerPtr& listener) const {
  return std::all_of(terms.keys.begin(), terms.keys.end(), [&](const std::string& key) {
    const auto found = listeners_.find({key, terms.owner});
    return found != listeners_.end() && found->second == listener;
  });
}

void Core::Deliver(const Message& message) {
  if (message.event == "subscribed") {  // what was published in between is lost
    const auto listeners = listeners_;
    for (const auto& [name, listener] : listeners) {
      if (message.slots.Contains(SlotOf(name.first))) (*listener)(message);
    }
    return;
  }
  const auto found = listeners_.find({message.key, message.owner});
  if (found == listeners_.end()) return;
  const ListenerPtr listener = found->second;
  (*listener)(message);
}

}  // namespace fairlock::client
