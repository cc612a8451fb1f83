// What a client asks about a lock that is held.

#include <algorithm>
#include <boost/asio/detached.hpp>

#include "core.h"

namespace fairlock::client {

namespace asio = boost::asio;
using asio::awaitable;

namespace {

using namespace std::chrono_literals;

constexpr const char* kUnknown = "the server does not know it any more";

}  // namespace

void Core::Renew(const StatePtr& state, std::optional<Duration> lease, Done<bool> done) {
  asio::post(io_, [this, state, lease, done = std::move(done)] {
    Start<bool>(RenewOnce(state, lease), done);
  });
}

awaitable<bool> Core::RenewOnce(StatePtr state, std::optional<Duration> lease) {
  state->Check();
  co_await AskRenewal(state, lease.value_or(state->Lease()));
  if (lease) state->SetLease(*lease);
  state->EndPause();
  state->Check();
  co_return true;
}

// A refusal is final, because a token never returns.
awaitable<void> Core::AskRenewal(StatePtr state, Duration lease) {
  const auto command = state->terms.Renew(state->token, lease);
  const auto answer = co_await Ask(state->terms, command, Until(state->Deadline()));
  if (answer.reply.integer == 1) {
    state->Extend(answer.sent_at + lease);
  } else {
    state->Lose(kUnknown);
  }
}

// Runs until the hold is over. A message on the channel, or the end of the hold, ends a pause.
awaitable<void> Core::Watch(StatePtr state, ListenerPtr listener) {
  const auto& options = state->terms.options;
  const auto pause = std::make_shared<asio::steady_timer>(io_);
  state->pause = pause;
  while (!state->IsOver() && state->Lost().empty()) {
    const auto next = options.renew ? state->RenewAt() : state->Deadline();
    if (BootClock::now() < next) {
      pause->expires_after(std::min(Until(next), kForever));
      co_await pause->async_wait(kQuietly);
    } else if (options.renew) {
      co_await RenewUntilAnswered(state, *pause);
    }
  }
  Unfollow(state->terms, listener);
  const auto reason = state->Lost();
  if (state->IsOver() || !options.on_lost) co_return;
  try {
    options.on_lost(reason);
  } catch (...) {  // must not end the thread that renews all other holds
  }
}

// The server may be restarting: asks again while the lease lasts.
awaitable<void> Core::RenewUntilAnswered(StatePtr state, asio::steady_timer& pause) {
  Pauses pauses;
  while (!state->IsOver() && state->Lost().empty()) {
    try {
      co_await AskRenewal(state, state->Lease());
      co_return;
    } catch (const Error&) {
      pause.expires_after(std::min(pauses.Next(), Until(state->Deadline())));
    }
    co_await pause.async_wait(kQuietly);
  }
}

void Core::Release(const StatePtr& state, Done<bool> done) {
  asio::post(io_, [this, state, done = std::move(done)] { Start<bool>(ReleaseNow(state), done); });
}

// True if the lock was held until now. If the server cannot be reached, the lease ends the hold
// later, and the result is what this process knew.
awaitable<bool> Core::ReleaseNow(StatePtr state) {
  if (!state->IsOfThisProcess() || !state->End()) co_return false;
  const bool was_held = state->Lost().empty();
  state->EndPause();
  const auto give_up_at = BootClock::now() + kRepeatTime;
  bool is_repeated = false;
  Pauses pauses;
  while (true) {
    try {
      const auto answer =
          co_await Ask(state->terms, state->terms.Unlock(state->token), kRepeatTime);
      const auto count = static_cast<std::int64_t>(state->terms.keys.size());
      // The first of two requests may have been executed although its reply was lost.
      co_return was_held && (is_repeated || answer.reply.integer == count);
    } catch (const ConnectionFailed&) {
      if (BootClock::now() >= give_up_at) co_return was_held;
    } catch (const Error&) {
      co_return was_held;
    }
    is_repeated = true;
    asio::steady_timer pause(io_, pauses.Next());
    co_await pause.async_wait(kQuietly);
  }
}

void Core::Transfer(const StatePtr& state, std::string new_owner, Done<std::int64_t> done) {
  asio::post(io_, [this, state, new_owner = std::move(new_owner), done = std::move(done)] {
    Start<std::int64_t>(TransferNow(state, new_owner), done);
  });
}

awaitable<std::int64_t> Core::TransferNow(StatePtr state, std::string new_owner) {
  state->Check();
  if (state->terms.keys.size() != 1) throw Refused("only a lock of one key can be transferred");
  state->BeginTransfer(new_owner);
  std::optional<std::int64_t> token;
  std::exception_ptr error;
  try {
    token = co_await AskTransfer(state, new_owner);
    if (!token) state->Lose(kUnknown);
  } catch (const Error&) {
    error = std::current_exception();
  }
  if (token) state->End();
  state->EndTransfer();
  state->EndPause();
  if (error != nullptr) std::rethrow_exception(error);
  if (!token) state->Check();
  co_return *token;
}

// Asks again while the server cannot be reached: the token in the command lets only one of the
// requests succeed. Returns nothing if none did.
awaitable<std::optional<std::int64_t>> Core::AskTransfer(StatePtr state, std::string new_owner) {
  const auto& terms = state->terms;
  const auto command = terms.Transfer(state->token, new_owner, state->Lease());
  const auto give_up_at = BootClock::now() + kRepeatTime;
  Pauses pauses;
  for (bool is_repeated = false;; is_repeated = true) {
    try {
      const auto answer = co_await Ask(terms, command, kRepeatTime);
      if (answer.reply.kind != Value::Kind::kNil || !is_repeated) co_return answer.reply.Integer();
      const auto info = co_await Ask(terms, terms.Info(), kRepeatTime);
      if (!state->Lost().empty()) co_return std::nullopt;
      co_return NewerToken(new_owner, state->token, info.reply);
    } catch (const ConnectionFailed&) {
      if (BootClock::now() >= give_up_at || !state->Lost().empty()) throw;
    } catch (const Error&) {
      if (!is_repeated) state->RefuseTransfer();
      throw;
    }
    asio::steady_timer pause(io_, pauses.Next());
    co_await pause.async_wait(kQuietly);
  }
}

}  // namespace fairlock::client
