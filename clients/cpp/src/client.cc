#include "fairlock/client.h"

#include <unistd.h>

#include <algorithm>
#include <future>

#include "core.h"

namespace fairlock::client {

using namespace std::chrono_literals;

namespace {

std::string NameOf(const Terms& terms) {
  return terms.keys.size() == 1 ? terms.keys.front() : terms.keys.front() + " and others";
}

}  // namespace

HoldState::HoldState(std::weak_ptr<Core> its_core, Terms its_terms, std::int64_t its_token,
                     Time sent_at)
    : core(std::move(its_core)),
      terms(std::move(its_terms)),
      token(its_token),
      process_(getpid()),
      lease_(terms.options.lease),
      deadline_(sent_at + lease_) {}

void HoldState::EndPause() const {
  if (const auto timer = pause.lock()) timer->cancel();
}

bool HoldState::IsOfThisProcess() const { return getpid() == process_; }

void HoldState::Check() const {
  if (!IsOfThisProcess()) throw LostHold(NameOf(terms) + " is held by the parent of this process");
  const std::lock_guard lock(mutex_);
  if (is_over_) throw LostHold(NameOf(terms) + " was released");
  if (!transfer_.heir.empty()) {
    throw LostHold(NameOf(terms) + " is being transferred to " + transfer_.heir +
                   ", or has been already");
  }
  const auto reason = LostLocked();
  if (!reason.empty()) throw LostHold(NameOf(terms) + " is lost: " + reason);
}

std::string HoldState::LostLocked() const {
  if (lost_.empty() && !is_over_ && BootClock::now() >= deadline_) {
    lost_ = "its lease of " + std::to_string(lease_.count()) + " ms ended before it was renewed";
  }
  return lost_;
}

std::string HoldState::Lost() const {
  const std::lock_guard lock(mutex_);
  return LostLocked();
}

Time HoldState::Deadline() const {
  const std::lock_guard lock(mutex_);
  return deadline_;
}

Time HoldState::RenewAt() const {
  const std::lock_guard lock(mutex_);
  return deadline_ - lease_ / 3;
}

Duration HoldState::Lease() const {
  const std::lock_guard lock(mutex_);
  return lease_;
}

bool HoldState::IsOver() const {
  const std::lock_guard lock(mutex_);
  return is_over_;
}

bool HoldState::End() {
  const std::lock_guard lock(mutex_);
  LostLocked();
  return !std::exchange(is_over_, true);
}

void HoldState::Lose(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  LoseLocked(reason);
}

void HoldState::LoseLocked(const std::string& reason) {
  if (!lost_.empty() || is_over_) return;
  if (transfer_.heir.empty()) {
    lost_ = reason;
  } else if (transfer_.rumour.empty()) {
    transfer_.rumour = reason;
  }
}

void HoldState::SetLease(Duration lease) {
  const std::lock_guard lock(mutex_);
  lease_ = lease;
}

void HoldState::Extend(Time deadline) {
  const std::lock_guard lock(mutex_);
  if (LostLocked().empty()) deadline_ = std::max(deadline_, deadline);
}

void HoldState::BeginTransfer(const std::string& heir) {
  const std::lock_guard lock(mutex_);
  transfer_.heir = heir;
}

void HoldState::RefuseTransfer() {
  const std::lock_guard lock(mutex_);
  transfer_.heir.clear();
  if (!transfer_.rumour.empty()) LoseLocked(transfer_.rumour);
}

void HoldState::EndTransfer() {
  const std::lock_guard lock(mutex_);
  if (transfer_.heir.empty()) return;
  const std::string unconfirmed = "the server has not confirmed its transfer to " + transfer_.heir;
  transfer_.heir.clear();
  LoseLocked(transfer_.rumour.empty() ? unconfirmed : transfer_.rumour);
}

namespace {

// Runs an operation, and blocks until it is done.
template <typename Result, typename Begin>
Result Block(Begin begin) {
  auto promise = std::make_shared<std::promise<Result>>();
  auto future = promise->get_future();
  begin([promise](std::exception_ptr error, Result result) {
    if (error != nullptr) {
      promise->set_exception(error);
    } else {
      promise->set_value(std::move(result));
    }
  });
  return future.get();
}

template <typename Result>
std::shared_ptr<Core> CoreOf(const std::shared_ptr<HoldState>& state, const Done<Result>& done) {
  auto core = state && state->IsOfThisProcess() ? state->core.lock() : nullptr;
  if (!core) {
    done(std::make_exception_ptr(LostHold("nothing is held here, or the client is closed")), {});
  }
  return core;
}

}  // namespace

Hold::Hold() = default;
Hold::Hold(std::shared_ptr<HoldState> state) : state_(std::move(state)) {}
Hold::Hold(Hold&& other) noexcept = default;

Hold& Hold::operator=(Hold&& other) noexcept {
  Hold old(std::move(other));
  std::swap(state_, old.state_);
  return *this;
}

Hold::~Hold() {
  if (!state_) return;
  if (!state_->IsOfThisProcess()) {
    // Leaked on purpose: another process must leave the hold alone, like its core.
    new std::shared_ptr<HoldState>(state_);
    return;
  }
  if (state_->IsOver()) return;
  if (const auto core = state_->core.lock()) {
    core->Release(state_, [](const std::exception_ptr&, bool) {});
  }
}

const std::vector<std::string>& Hold::keys() const {
  static const std::vector<std::string> none;
  return state_ ? state_->terms.keys : none;
}

const std::string& Hold::owner() const {
  static const std::string none;
  return state_ ? state_->terms.owner : none;
}

std::int64_t Hold::token() const {
  check();
  return state_->token;
}

void Hold::check() const {
  if (!state_) throw LostHold("nothing is held here");
  state_->Check();
}

Duration Hold::remaining() const {
  return state_ ? std::max(0ms, std::chrono::floor<Duration>(state_->Deadline() - BootClock::now()))
                : 0ms;
}

void Hold::renew(std::optional<Duration> lease) {
  Block<bool>([&](Done<bool> done) { StartRenew(state_, lease, std::move(done)); });
}

bool Hold::release() {
  return Block<bool>([&](Done<bool> done) { StartRelease(state_, std::move(done)); });
}

std::int64_t Hold::transfer(const std::string& new_owner) {
  return Block<std::int64_t>(
      [&](Done<std::int64_t> done) { StartTransfer(state_, new_owner, std::move(done)); });
}

void Hold::StartRenew(const State& state, std::optional<Duration> lease, Done<bool> done) {
  if (const auto core = CoreOf(state, done)) core->Renew(state, lease, std::move(done));
}

void Hold::StartRelease(const State& state, Done<bool> done) {
  const auto core = state && state->IsOfThisProcess() ? state->core.lock() : nullptr;
  if (core) {
    core->Release(state, std::move(done));
  } else {
    done(nullptr, false);
  }
}

void Hold::StartTransfer(const State& state, std::string new_owner, Done<std::int64_t> done) {
  if (const auto core = CoreOf(state, done)) {
    core->Transfer(state, std::move(new_owner), std::move(done));
  }
}

Client::Client(Settings settings) : core_(std::make_shared<Core>(std::move(settings))) {}

Client::~Client() { core_->Stop(); }

Hold Client::lock(Keys keys, LockOptions options) {
  return Block<Hold>(
      [&](Done<Hold> done) { StartLock(*core_, keys, options, {}, std::move(done)); });
}

std::optional<Hold> Client::try_lock(Keys keys, LockOptions options) {
  return Block<std::optional<Hold>>([&](Done<std::optional<Hold>> done) {
    StartTryLock(*core_, keys, options, {}, std::move(done));
  });
}

void Client::StartLock(Core& core, Keys keys, LockOptions options, std::stop_token stop,
                       Done<Hold> done) {
  core.Lock({keys.names(), options.owner, options}, false, std::move(stop), std::move(done));
}

void Client::StartTryLock(Core& core, Keys keys, LockOptions options, std::stop_token stop,
                          Done<std::optional<Hold>> done) {
  const auto translate = [done](std::exception_ptr error, Hold hold) {
    try {
      if (error != nullptr) std::rethrow_exception(error);
      done(nullptr, std::move(hold));
    } catch (const Denied&) {
      done(nullptr, std::nullopt);
    } catch (...) {
      done(std::current_exception(), std::nullopt);
    }
  };
  core.Lock({keys.names(), options.owner, options}, true, std::move(stop), translate);
}

}  // namespace fairlock::client
