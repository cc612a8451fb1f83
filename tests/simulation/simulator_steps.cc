// The simulator: turns a step into the call that it stands for at that moment.

#include <algorithm>

#include "tests/simulation/lists.h"
#include "tests/simulation/simulator.h"

namespace fairlock::simulation {
namespace {

// From this time on, each step moves the clock by only 1 ms, so that no deadline reaches kNever.
constexpr TimeMs kTimeMax = engine::kNever / 2;

bool NeedsConnection(Operation operation) {
  return operation == Operation::kLock || operation == Operation::kWait ||
         operation == Operation::kMlock || IsRedis(operation);
}

bool NamesSeveralKeys(Operation operation) {
  return operation == Operation::kMlock || operation == Operation::kMrenew ||
         operation == Operation::kMunlock;
}

}  // namespace

std::optional<int> Simulator::PickFreeConnection(int slot) const {
  for (int i = 0; i < setting_.connections; ++i) {
    const int candidate = (slot + i) % setting_.connections;
    if (!ledger_.IsWaiting(driver_.ConnectionIn(candidate))) return driver_.ConnectionIn(candidate);
  }
  return std::nullopt;
}

int Simulator::PickAnyConnection(const Step& step) const {
  for (int i = 0; i < setting_.connections && step.prefers_waiting_connection; ++i) {
    const int candidate = (step.connection + i) % setting_.connections;
    if (ledger_.IsWaiting(driver_.ConnectionIn(candidate))) return driver_.ConnectionIn(candidate);
  }
  return driver_.ConnectionIn(step.connection % setting_.connections);
}

void Simulator::ResolveOwner(const Step& step, Call& call) const {
  const Ledger::Key& key = ledger_.key(step.key);
  const auto choice = static_cast<std::size_t>(step.owner);
  call.owner = step.owner;
  if (step.owner_choice == OwnerChoice::kHolder && !key.holds.empty()) {
    call.owner = key.holds[choice % key.holds.size()].owner;
  } else if (step.owner_choice == OwnerChoice::kWaiter && !key.line.empty()) {
    call.owner = key.line[choice % key.line.size()].owner;
  }
}

void Simulator::ResolveKeys(const Step& step, Call& call) const {
  if (step.operation == Operation::kMsetNx) {
    call.keys = {step.key};
    call.keys.insert(call.keys.end(), step.more_keys.begin(), step.more_keys.end());
  }
  if (step.operation == Operation::kFlush) ResolveFlush(step, call);
  if (!NamesSeveralKeys(step.operation)) return;
  call.keys = {step.key};
  call.keys.insert(call.keys.end(), step.more_keys.begin(), step.more_keys.end());
  const std::vector<int> earlier = ledger_.KeysOfMlock(step.key, call.owner);
  if (step.repeats_keys && !earlier.empty()) call.keys = earlier;
  if (step.reverses_keys) std::ranges::reverse(call.keys);
  call.key = call.keys.front();
  const auto is_staked = [&](int key) {
    const Ledger::Key& stakes = ledger_.key(key);
    return FindOwner(stakes.holds, call.owner) != stakes.holds.end() ||
           FindOwner(stakes.line, call.owner) != stakes.line.end();
  };
  if (!call.is_mlock() || !step.avoids_stakes || call.keys == earlier) return;
  const int owners = static_cast<int>(setting_.owners.size());
  for (int i = 0; i < owners && std::ranges::any_of(call.keys, is_staked); ++i) {
    call.owner = (call.owner + 1) % owners;
  }
}

void Simulator::ResolveFlush(const Step& step, Call& call) const {
  call.flushes_all = step.only_held;
  const std::uint8_t db = setting_.keys[static_cast<std::size_t>(step.key)].db;
  call.keys = {step.key};
  for (int key = 0; key < static_cast<int>(setting_.keys.size()); ++key) {
    const bool is_meant = call.flushes_all || setting_.keys[static_cast<std::size_t>(key)].db == db;
    if (is_meant && key != step.key) call.keys.push_back(key);
  }
}

void Simulator::ResolveRedis(const Step& step, Call& call) {
  const bool is_write = step.operation == Operation::kSet || step.operation == Operation::kMsetNx;
  call.written_end = step.written_end;
  call.only_new = step.only_new;
  const bool is_set = step.operation == Operation::kSet;
  if (step.operation == Operation::kMsetNx) call.written_end = engine::WrittenEnd::kEndless;
  call.only_held = is_set && step.only_held && !step.only_new;
  call.is_rename = is_set && step.is_rename && !step.only_new;
  if (call.is_rename) call.only_held = false;
  call.condition = step.condition;
  call.lease_ms.reset();
  const bool has_lease = is_write ? call.written_end == engine::WrittenEnd::kAfter : step.has_lease;
  if (!has_lease) call.condition = ExpiryCondition::kNone;
  if (has_lease) call.lease_ms = step.is_past ? -step.lease_ms / 2 : step.lease_ms;
  call.token.reset();
}

void Simulator::ResolveToken(const Step& step, Call& call) const {
  const std::vector<Ledger::Hold>& holds = ledger_.key(step.key).holds;
  switch (step.token_choice) {
    case TokenChoice::kNone:
      return;
    case TokenChoice::kRight:
      for (const Ledger::Hold& hold : holds) {
        if (hold.owner == call.owner) call.token = hold.token;
      }
      return;
    case TokenChoice::kEarlier:
      call.token = ledger_.EarlierToken(static_cast<std::size_t>(step.new_owner));
      return;
    case TokenChoice::kUnknown:
      call.token = ledger_.newest_token() + static_cast<Token>(step.new_owner);
      return;
  }
}

void Simulator::ResolveOptions(const Step& step, Call& call) const {
  call.keep_ms = step.keep_ms;
  call.is_shared = step.is_shared;
  if (step.has_session) call.session_grace_ms = step.grace_ms;
  call.min_hold_ms = step.min_hold_ms;
  if (step.waiters_max != kAbsent) call.waiters_max = step.waiters_max;
  call.replaces_newest = step.replaces_newest;
}

// Rule 13: the channel must have a subscriber, and NOTIFY is not allowed within a step.
void Simulator::ResolveNotify(const Step& step, Call& call) const {
  const bool is_asking = call.operation == Operation::kLock || call.is_mlock();
  if (step.operation != Operation::kRepeat) {
    call.channel = is_asking && step.has_notify ? step.channel : kAbsent;
  }
  for (std::size_t i = 0; i < is_open_.size() && call.channel != kAbsent; ++i) {
    if (is_open_[static_cast<std::size_t>(call.channel)]) break;
    call.channel = (call.channel + 1) % static_cast<int>(is_open_.size());
  }
  const bool is_possible = call.channel != kAbsent && left_in_step_ == 0 &&
                           is_open_[static_cast<std::size_t>(call.channel)];
  if (!is_possible) call.channel = kAbsent;
}

Call Simulator::ResolveSetting(const Step& step) {
  Call call;
  call.operation = step.operation;
  const bool is_override = step.operation == Operation::kSetLimit;
  if (!is_override || step.has_lease) call.lease_ms = step.lease_ms;
  if (step.operation == Operation::kSetReconnectGrace && step.only_new) call.lease_ms = 0;
  // A shortage lasts for a few steps.
  call.is_short = step.only_new && step.has_owner;
  call.pattern = step.pattern;
  call.limit = step.limit;
  return call;
}

std::optional<Call> Simulator::Resolve(const Step& step) {
  Call call;
  if (IsSetting(step.operation)) return ResolveSetting(step);
  // The engine may choose the order in which MSETNX settles keys, and within a step nothing else
  // settles them.
  const bool may_settle = left_in_step_ == 0 || all_settled_at_ == now_;
  if (step.operation == Operation::kFlush && !may_settle) return std::nullopt;
  if (step.operation == Operation::kRepeat) {
    if (!last_request_) return std::nullopt;
    call = *last_request_;
  } else {
    call.operation = step.operation;
    call.key = step.key;
    ResolveOwner(step, call);
    ResolveKeys(step, call);
    call.new_owner = step.new_owner;
    if (step.operation == Operation::kBreak && !step.has_owner) call.owner = kAbsent;
    // Two of the choices that a step makes for RENEW and LOCK stand for GRACE.
    if (step.operation == Operation::kBreak && step.only_lengthens)
      call.grace_ms = std::max<DurationMs>(step.lease_ms, 1);
    ResolveToken(step, call);
    if (call.operation == Operation::kCheck && !call.token) call.token = 0;
    if (IsRedis(call.operation)) {
      ResolveRedis(step, call);
      return WithConnection(step, call);
    }
    if (step.has_lease) call.lease_ms = step.lease_ms;
    if (step.limit != 0) call.limit = step.limit;
    ResolveOptions(step, call);
    call.wait_ms = step.wait_ms;
    call.only_new = step.only_new;
    call.only_lengthens = step.only_lengthens;
    call.meta = step.meta;
    call.label = step.label;
    call.start = step.start;
    call.count = step.count;
  }
  ResolveNotify(step, call);
  return WithConnection(step, call);
}

// Rule 17: a waiting connection sends nothing, so one that does not wait is picked.
std::optional<Call> Simulator::WithConnection(const Step& step, Call call) const {
  const std::optional<int> connection = PickFreeConnection(step.connection);
  if (NeedsConnection(call.operation) && !connection) return std::nullopt;
  call.connection = connection.value_or(kAbsent);
  return call;
}

void Simulator::MoveTime(const Step& step) {
  TimeMs from = now_;
  if (step.time_choice == TimeChoice::kNextDeadline) from = driver_.engine().NextDeadline();
  if (step.time_choice == TimeChoice::kTrueDeadline) from = ledger_.NextDeadline();
  if (from == engine::kNever) from = now_;
  const TimeMs to = from + step.time_ms;
  now_ = to < kTimeMax ? std::max(now_, to) : now_ + 1;
}

}  // namespace fairlock::simulation
