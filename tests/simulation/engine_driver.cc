#include "tests/simulation/engine_driver.h"

#include <algorithm>
#include <cassert>

namespace fairlock::simulation {

using engine::LockStatus;
using engine::WaitStatus;

struct EngineDriver::Connection : engine::Attachment {
  Connection(engine::ClientRef client_ref, int its_number)
      : Attachment(client_ref), number(its_number) {}

  const int number;
  int key = kAbsent;  // the key of the waiting request
  bool waits_for_all = false;
};

EngineDriver::EngineDriver(const Setting& setting)
    : setting_(setting),
      engine_(setting.engine),
      slots_(static_cast<std::size_t>(setting.connections)) {
  engine_.set_event_sink(this);
  engine_.set_notice_sink(this);
  for (int slot = 0; slot < setting.connections; ++slot) Connect(slot);
}

EngineDriver::~EngineDriver() {
  // A failed run may end while requests wait; these must let go of their connections first.
  engine::Effects ignored;
  for (const auto& connection : slots_) {
    if (connection) engine_.sessions().Detach(*connection, {now_, ignored});
  }
}

// Connections
void EngineDriver::Connect(int slot) {
  const int number = static_cast<int>(addresses_.size());
  addresses_.push_back("c" + std::to_string(number));
  const engine::ClientRef client = engine_.clients().Connect(addresses_.back(), "default");
  slots_[static_cast<std::size_t>(slot)] = std::make_unique<Connection>(client, number);
}

EngineDriver::Connection& EngineDriver::Find(int connection) {
  const auto found = std::ranges::find_if(
      slots_, [&](const auto& candidate) { return candidate->number == connection; });
  assert(found != slots_.end());
  return **found;
}

engine::Attachment& EngineDriver::AttachmentOf(int connection) { return Find(connection); }

void EngineDriver::Close(Connection& connection, TimeMs now) {
  now_ = now;
  engine_.sessions().Detach(connection, {now, effects_});
  engine_.clients().Disconnect(connection.client);
}

void EngineDriver::EndStep(TimeMs now, Outcome& outcome) {
  now_ = now;
  engine_.EndTransaction({now, effects_});
  TakeAnswers(outcome);
}

void EngineDriver::Unblock(int connection, TimeMs now, Outcome& outcome) {
  now_ = now;
  engine_.sessions().EndWaits(Find(connection), {now, effects_});
  TakeAnswers(outcome);
}

bool EngineDriver::UndoGrant(int key, Token token, TimeMs now, Outcome& outcome) {
  now_ = now;
  const engine::KeyName name = setting_.keys[static_cast<std::size_t>(key)].name();
  const bool is_undone =
      engine_.sessions().UndoGrant(engine_.Prefetch(name), token, {now, effects_});
  TakeAnswers(outcome);
  outcome.number = is_undone;
  return is_undone;
}

void EngineDriver::Disconnect(int connection, TimeMs now, Outcome& outcome) {
  Connection& closing = Find(connection);
  Close(closing, now);
  TakeAnswers(outcome);
  const auto is_closing = [&](const auto& candidate) { return candidate.get() == &closing; };
  Connect(static_cast<int>(std::ranges::find_if(slots_, is_closing) - slots_.begin()));
}

void EngineDriver::CloseAll(TimeMs now) {
  for (auto& connection : slots_) {
    Close(*connection, now);
    connection.reset();
  }
  for (const std::string& channel : setting_.channels) {
    engine_.channels().Close(channel, {now, effects_});
  }
  told_.clear();
  losses_.clear();
  events_.clear();
  effects_.resolutions.clear();
}

int EngineDriver::ConnectionIn(int slot) const {
  return slots_[static_cast<std::size_t>(slot)]->number;
}

bool EngineDriver::IsWaiting(int slot) const {
  return !slots_[static_cast<std::size_t>(slot)]->pending.empty();
}

bool EngineDriver::IsConnected(int connection) const {
  return std::ranges::any_of(
      slots_, [&](const auto& candidate) { return candidate && candidate->number == connection; });
}

const std::string& EngineDriver::AddressOf(int connection) const {
  return setting_.TextOf(addresses_, connection);
}

void EngineDriver::TakeAnswers(Outcome& outcome) {
  auto told = told_.begin();
  for (std::size_t i = 0; i <= effects_.resolutions.size(); ++i) {
    for (; told != told_.end() && told->resolutions_before == i; ++told) {
      outcome.answers.push_back(told->answer);
    }
    if (i == effects_.resolutions.size()) break;
    outcome.answers.push_back(AnswerOf(effects_.resolutions[i]));
  }
  effects_.resolutions.clear();
  told_.clear();
  outcome.losses.insert(outcome.losses.end(), losses_.begin(), losses_.end());
  losses_.clear();
  outcome.events.insert(outcome.events.end(), events_.begin(), events_.end());
  events_.clear();
}

Answer EngineDriver::AnswerOf(const engine::Resolution& resolution) const {
  const auto found = std::ranges::find_if(
      slots_, [&](const auto& candidate) { return candidate.get() == resolution.to; });
  Answer answer{kNobody, kAbsent, resolution.kind, resolution.token};
  if (resolution.kind == engine::ResolutionKind::kReplaced) {
    answer.by = NumberOfOwner(resolution.by);
  }
  if (found == slots_.end()) return answer;
  answer.connection = (*found)->number;
  answer.key = (*found)->key;
  assert(resolution.kind != engine::ResolutionKind::kGranted || (*found)->waits_for_all ||
         resolution.key_hash ==
             engine_.Prefetch(setting_.keys[static_cast<std::size_t>(answer.key)].name()));
  return answer;
}

void EngineDriver::Take(const engine::Notice& notice) {
  const int channel = NumberOfChannel(notice.channel);
  const int key = NumberOfKey(notice.key);
  const int owner = NumberOfOwner(notice.owner);
  if (notice.loss) {
    losses_.push_back({channel, key, owner, notice.token, *notice.loss});
    return;
  }
  Answer answer{ConnectionOfChannel(channel), key, notice.outcome, notice.token, kAbsent, owner};
  if (notice.outcome == engine::ResolutionKind::kReplaced) answer.by = NumberOfOwner(notice.by);
  assert(notice.key_hash == engine_.Prefetch(notice.key));
  told_.push_back({effects_.resolutions.size(), answer});
}

void EngineDriver::OpenChannel(int channel, TimeMs now, Outcome& outcome) {
  now_ = now;
  engine_.channels().Open(setting_.TextOf(setting_.channels, channel), {now, effects_});
  TakeAnswers(outcome);
}

void EngineDriver::CloseChannel(int channel, TimeMs now, Outcome& outcome) {
  now_ = now;
  engine_.channels().Close(setting_.TextOf(setting_.channels, channel), {now, effects_});
  TakeAnswers(outcome);
}

int EngineDriver::NumberOfChannel(std::string_view name) const {
  const auto found = std::ranges::find(setting_.channels, name);
  return static_cast<int>(found - setting_.channels.begin());
}

int EngineDriver::NumberOfOwner(std::string_view owner) const {
  const auto found = std::ranges::find(setting_.owners, owner);
  return found == setting_.owners.end() ? kAbsent
                                        : static_cast<int>(found - setting_.owners.begin());
}

int EngineDriver::NumberOfKey(const engine::KeyName& name) const {
  const auto found =
      std::ranges::find_if(setting_.keys, [&](const KeyText& key) { return key.name() == name; });
  return found == setting_.keys.end() ? kAbsent : static_cast<int>(found - setting_.keys.begin());
}

void EngineDriver::Note(const engine::Event& event) {
  using engine::EventKind;
  // The model does not predict which of several causes made a key free for Redis clients.
  if (event.kind == EventKind::kVacated) return;
  const bool is_grant = event.kind == EventKind::kGranted || event.kind == EventKind::kTransferred;
  if (is_grant) ++grants_told_;
  events_.push_back({.kind = event.kind,
                     .key = NumberOfKey(event.key),
                     .owner = NumberOfOwner(event.owner),
                     .token = event.token,
                     .reason = static_cast<int>(event.reason),
                     .other = NumberOfOwner(event.other),
                     .other_token = event.other_token,
                     .waited_ms = event.waited_ms,
                     .held_ms = event.held_ms,
                     .grace_ms = event.grace_ms,
                     .at = event.at,
                     .is_in_time = !is_grant || engine_.counts().granted == grants_told_});
}

void EngineDriver::Take(const engine::Event& event) {
  Note(event);
  // What is broken without a command has had notice.
  const bool is_by_time =
      event.kind == engine::EventKind::kExpired || event.kind == engine::EventKind::kBroken;
  if (is_by_time) {
    expiries_.push_back({NumberOfKey(event.key), event.token});
  } else if (event.kind == engine::EventKind::kLapsed) {
    lapses_.push_back({NumberOfKey(event.key), NumberOfOwner(event.owner)});
  } else if (event.kind == engine::EventKind::kReleased) {
    releases_.push_back({NumberOfKey(event.key), event.token});
  }
}

void EngineDriver::ListLine(const Call& call, TimeMs now, Outcome& outcome) {
  engine::Effects none;
  for (const engine::KeyName& key : KeysOf(call)) {
    outcome.owners_in_line.emplace_back();
    for (const auto& place : engine_.inspection().Queue(key, 0, 1'000'000, {now, none})) {
      outcome.owners_in_line.back().push_back(NumberOfOwner(place.owner));
    }
  }
}

// Calls
engine::KeyName EngineDriver::KeyOf(const Call& call) const {
  return setting_.keys[static_cast<std::size_t>(call.key)].name();
}

std::vector<engine::KeyName> EngineDriver::KeysOf(const Call& call) const {
  std::vector<engine::KeyName> names;
  for (int key : call.named()) names.push_back(setting_.keys[static_cast<std::size_t>(key)].name());
  return names;
}

std::string_view EngineDriver::OwnerOf(int owner) const {
  return setting_.owners[static_cast<std::size_t>(owner)];
}

bool EngineDriver::Advance(const Call& call, TimeMs now, Outcome& outcome) {
  now_ = now;
  expiries_.clear();
  lapses_.clear();
  bool is_more_due = true;
  do {
    is_more_due = engine_.Advance(call.steps_max, {now, effects_});
  } while (is_more_due && call.until_done);
  TakeAnswers(outcome);
  outcome.expiries = expiries_;
  outcome.lapses = lapses_;
  return !is_more_due;
}

void EngineDriver::Apply(const Call& call, TimeMs now, Outcome& outcome) {
  now_ = now;
  if (IsSetting(call.operation)) return ApplySetting(call, now, outcome);
  if (IsRedis(call.operation)) {
    ApplyRedis(call, now, outcome);
    return TakeAnswers(outcome);
  }
  switch (call.operation) {
    case Operation::kLock:
    case Operation::kMlock:
      Lock(call, now, outcome);
      break;
    case Operation::kMrenew:
    case Operation::kMunlock:
      ApplyToAll(call, now, outcome);
      break;
    case Operation::kWait:
      Wait(call, now, outcome);
      break;
    case Operation::kTransfer:
      Transfer(call, now, outcome);
      break;
    case Operation::kUnlock:
    case Operation::kRenew:
    case Operation::kCancel:
    case Operation::kBreak:
      ApplyToHolder(call, now, outcome);
      break;
    case Operation::kExplain:
      Explain(call, now, outcome);
      break;
    default:
      Look(call, now, outcome);
  }
  TakeAnswers(outcome);
  const bool ends_silently = (call.operation == Operation::kBreak && call.owner == kAbsent) ||
                             ((call.operation == Operation::kLock || call.is_mlock()) &&
                              call.waiters_max && call.replaces_newest);
  if (ends_silently) ListLine(call, now, outcome);
}

engine::LockRequest EngineDriver::LockRequestOf(const Call& call) const {
  engine::LockRequest request;
  request.owner = OwnerOf(call.owner);
  request.lease_ms = call.lease_ms;
  request.wait_ms = call.wait_ms;
  request.keep_ms = call.keep_ms;
  if (!call.is_shared) request.limit = call.limit;
  request.is_shared = call.is_shared;
  request.terms.session_grace_ms = call.session_grace_ms;
  request.terms.min_hold_ms = call.min_hold_ms;
  request.waiters_max = call.waiters_max;
  request.replaces_newest = call.replaces_newest;
  request.only_new = call.only_new;
  if (call.meta != kAbsent) request.meta = setting_.TextOf(setting_.metas, call.meta);
  if (call.channel != kAbsent) request.notify = setting_.TextOf(setting_.channels, call.channel);
  if (call.label != kAbsent) request.label = setting_.TextOf(setting_.labels, call.label);
  return request;
}

void EngineDriver::ApplySetting(const Call& call, TimeMs now, Outcome& outcome) {
  if (call.operation == Operation::kSetDefaultLease) {
    engine_.options().default_lease_ms = call.lease_ms.value();
    return;
  }
  if (call.operation == Operation::kSetReconnectGrace) {
    engine_.options().reconnect_grace_ms = call.lease_ms.value();
    return;
  }
  if (call.operation == Operation::kSetShortage)
    return engine_.bounds().set_short_of_memory(call.is_short);
  if (call.operation == Operation::kSetNoRoom)
    return engine_.bounds().set_short_of_space(call.is_short);
  const PatternText& pattern = setting_.patterns[static_cast<std::size_t>(call.pattern)];
  if (call.operation == Operation::kDropLimit) {
    outcome.number = engine_.limits().Drop(pattern.db, pattern.glob(), now);
    return;
  }
  engine::LimitOverride row;
  row.db = pattern.db;
  row.pattern = pattern.glob();
  row.limit = call.limit.value();
  row.since = now;
  if (call.lease_ms) row.end = After(now, *call.lease_ms);
  outcome.status = engine_.limits().Set(row, now) ? 0 : 1;
}

void EngineDriver::Lock(const Call& call, TimeMs now, Outcome& outcome) {
  Connection& connection = Find(call.connection);
  engine::LockRequest request = LockRequestOf(call);
  engine::LockResult result;
  if (call.is_mlock()) {
    const std::vector<engine::KeyName> keys = KeysOf(call);
    result = engine_.Mlock({keys, request}, connection, {now, effects_});
  } else {
    request.key = KeyOf(call);
    result = engine_.Lock(request, connection, {now, effects_});
    assert(result.status != LockStatus::kGranted ||
           result.key_hash == engine_.Prefetch(request.key));
  }
  if (result.status == LockStatus::kQueued) {
    connection.key = call.key;
    connection.waits_for_all = call.is_mlock();
  }
  outcome.status = static_cast<int>(result.status);
  outcome.reason = static_cast<int>(result.reason);
  outcome.token = result.token;
  if (result.token == 0) outcome.number = static_cast<std::int64_t>(result.key);
  if (result.status == LockStatus::kDeadlock) TakeDeadlock(outcome);
}

void EngineDriver::TakeDeadlock(Outcome& outcome) const {
  const engine::Deadlock& deadlock = engine_.deadlocks().deadlock();
  outcome.link_count = deadlock.link_count;
  for (const engine::DeadlockLink& link : deadlock.links) {
    outcome.links.push_back({NumberOfOwner(link.waiter), NumberOfKey(link.key),
                             NumberOfOwner(link.blocker), link.is_held});
  }
}

void EngineDriver::ApplyToAll(const Call& call, TimeMs now, Outcome& outcome) {
  const std::vector<engine::KeyName> keys = KeysOf(call);
  const std::string_view owner = OwnerOf(call.owner);
  if (call.operation == Operation::kMrenew) {
    const engine::RenewRequest each{.key = {},
                                    .owner = owner,
                                    .lease_ms = call.lease_ms,
                                    .token = call.token,
                                    .only_lengthens = call.only_lengthens};
    outcome.number = engine_.Mrenew({keys, each}, {now, effects_});
  } else {
    const engine::UnlockRequest each{.key = {}, .owner = owner, .token = call.token};
    outcome.number = static_cast<std::int64_t>(engine_.Munlock({keys, each}, {now, effects_}));
  }
}

void EngineDriver::Wait(const Call& call, TimeMs now, Outcome& outcome) {
  Connection& connection = Find(call.connection);
  const engine::WaitRequest request{.key = KeyOf(call), .timeout_ms = call.wait_ms};
  const WaitStatus status = engine_.Wait(request, connection, {now, effects_});
  if (status == WaitStatus::kWaiting) {
    connection.key = call.key;
    connection.waits_for_all = false;
  }
  outcome.status = static_cast<int>(status);
}

void EngineDriver::Transfer(const Call& call, TimeMs now, Outcome& outcome) {
  const engine::TransferRequest request{.key = KeyOf(call),
                                        .owner = OwnerOf(call.owner),
                                        .new_owner = OwnerOf(call.new_owner),
                                        .lease_ms = call.lease_ms,
                                        .token = call.token};
  const engine::TransferResult result = engine_.Transfer(request, {now, effects_});
  outcome.status = static_cast<int>(result.status);
  outcome.token = result.token;
}

void EngineDriver::ApplyToHolder(const Call& call, TimeMs now, Outcome& outcome) {
  const engine::KeyName key = KeyOf(call);
  if (call.operation == Operation::kBreak) {
    std::optional<std::string_view> owner;
    if (call.owner != kAbsent) owner = OwnerOf(call.owner);
    const engine::BreakResult ended = engine_.Break(key, owner, {now, effects_}, call.grace_ms);
    outcome.number = static_cast<std::int64_t>(ended.holds);
    outcome.extra = static_cast<std::int64_t>(ended.slots_without_hold);
    return;
  }
  const std::string_view owner = OwnerOf(call.owner);
  if (call.operation == Operation::kUnlock) {
    outcome.number =
        engine_.Unlock({.key = key, .owner = owner, .token = call.token}, {now, effects_});
  } else if (call.operation == Operation::kRenew) {
    const engine::RenewRequest request{.key = key,
                                       .owner = owner,
                                       .lease_ms = call.lease_ms,
                                       .token = call.token,
                                       .only_lengthens = call.only_lengthens};
    outcome.number = engine_.Renew(request, {now, effects_});
  } else {
    outcome.number = engine_.Cancel(key, owner, {now, effects_});
  }
}

void EngineDriver::Look(const Call& call, TimeMs now, Outcome& outcome) {
  const engine::KeyName key = KeyOf(call);
  switch (call.operation) {
    case Operation::kCheck:
      outcome.number = engine_.inspection().Check(key, call.token.value(), {now, effects_});
      break;
    case Operation::kCountHolders:
      outcome.number =
          static_cast<std::int64_t>(engine_.inspection().CountHolders(key, {now, effects_}));
      break;
    case Operation::kIsHeldBy:
      outcome.number = engine_.inspection().IsHeldBy(key, OwnerOf(call.owner), {now, effects_});
      break;
    case Operation::kPosition: {
      const auto position =
          engine_.inspection().Position(key, OwnerOf(call.owner), {now, effects_});
      outcome.number = position ? static_cast<std::int64_t>(*position) : kAbsent;
      break;
    }
    case Operation::kInspect:
      outcome.number = static_cast<std::int64_t>(
          engine_.inspection().Inspect(key, 1, {now, effects_}).holder_count);
      break;
    case Operation::kQueue: {
      const auto places = engine_.inspection().Queue(key, call.start, call.count, {now, effects_});
      outcome.number = static_cast<std::int64_t>(places.size());
      if (!places.empty()) outcome.extra = static_cast<std::int64_t>(places.front().position);
      break;
    }
    default:
      assert(false && "not an operation of looking");
  }
}

void EngineDriver::Explain(const Call& call, TimeMs now, Outcome& outcome) {
  const engine::Explanation explanation =
      engine_.inspection().Explain(KeyOf(call), OwnerOf(call.owner), {now, effects_});
  outcome.status = static_cast<int>(explanation.waiter_count);
  outcome.number =
      explanation.position ? static_cast<std::int64_t>(*explanation.position) : kAbsent;
  outcome.extra = explanation.ttl_ms.value_or(kAbsent);
  outcome.reason = static_cast<int>(explanation.holders.size());
}

}  // namespace fairlock::simulation
