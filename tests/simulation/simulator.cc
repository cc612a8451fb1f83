#include "tests/simulation/simulator.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "tests/simulation/narration.h"

namespace fairlock::simulation {
namespace {

// Beyond this the clock only creeps, so that no deadline reaches the end of time.
constexpr TimeMs kTimeMax = engine::kNever / 2;

// Grants that may be undone are the latest ones.
constexpr std::ptrdiff_t kDeliveriesMax = 64;

bool NeedsConnection(Operation operation) {
  return operation == Operation::kLock || operation == Operation::kWait;
}

bool IsDoneToConnection(Operation operation) {
  return operation == Operation::kUnblock || operation == Operation::kDisconnect;
}

bool IsTime(Operation operation) {
  return operation == Operation::kSleep || operation == Operation::kAdvance;
}

}  // namespace

Simulator::Simulator(const Setting& setting, const SimulatorOptions& options)
    : setting_(setting),
      options_(options),
      driver_(setting),
      model_(setting),
      ledger_(setting),
      comparison_(setting, driver_, model_),
      now_(setting.start) {}

RunReport Simulator::Run(std::span<const Step> steps, std::span<const std::size_t> indices) {
  RunReport report;
  for (std::size_t index : indices) {
    if (options_.on_step) options_.on_step(index);
    if (options_.trace != nullptr) *options_.trace << "#" << index << " ";
    Execute(steps[index]);
    if (options_.trace != nullptr) *options_.trace << "\n";
    ++steps_run_;
    if (problem_) {
      report.failure = Failure{index, *problem_};
      break;
    }
  }
  if (!problem_) {
    if (options_.on_step) options_.on_step(steps.size());
    FinishRun();
    if (problem_) report.failure = Failure{steps.size(), *problem_};
  }
  report.trace_hash = hash_;
  return report;
}

void Simulator::Fail(std::optional<std::string> problem) {
  if (!problem_) problem_ = std::move(problem);
}

// What a step means now
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

Call Simulator::ResolveSetting(const Step& step) {
  Call call;
  call.operation = step.operation;
  const bool is_override = step.operation == Operation::kSetLimit;
  if (!is_override || step.has_lease) call.lease_ms = step.lease_ms;
  if (step.operation == Operation::kSetReconnectGrace && step.only_new) call.lease_ms = 0;
  call.pattern = step.pattern;
  call.limit = step.limit;
  return call;
}

std::optional<Call> Simulator::Resolve(const Step& step) {
  Call call;
  if (IsSetting(step.operation)) return ResolveSetting(step);
  if (step.operation == Operation::kRepeat) {
    if (!last_request_) return std::nullopt;
    call = *last_request_;
  } else {
    call.operation = step.operation;
    call.key = step.key;
    ResolveOwner(step, call);
    call.new_owner = step.new_owner;
    if (step.operation == Operation::kBreak && !step.has_owner) call.owner = kAbsent;
    ResolveToken(step, call);
    if (call.operation == Operation::kCheck && !call.token) call.token = 0;
    if (step.has_lease) call.lease_ms = step.lease_ms;
    if (step.limit != 0) call.limit = step.limit;
    ResolveOptions(step, call);
    call.wait_ms = step.wait_ms;
    call.only_new = step.only_new;
    call.meta = step.meta;
    call.label = step.label;
    call.start = step.start;
    call.count = step.count;
  }
  // Rule 17: a connection that waits sends nothing.
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

// Doing it
std::optional<Call> Simulator::Prepare(const Step& step) {
  Call call;
  call.operation = step.operation;
  if (IsTime(step.operation)) {
    MoveTime(step);
    call.steps_max = step.steps_max;
    call.until_done = step.until_done;
  } else if (IsDoneToConnection(step.operation)) {
    call.connection = PickAnyConnection(step);
    call.undone = step.undone;
  } else {
    return Resolve(step);
  }
  return call;
}

void Simulator::Execute(const Step& step) {
  engine_outcome_.Clear();
  model_outcome_.Clear();
  const std::optional<Call> call = Prepare(step);
  if (!call) return;
  if (options_.trace != nullptr) *options_.trace << Narrate(*call, now_) << std::flush;
  Perform(*call);
  if (options_.trace != nullptr) *options_.trace << " -> " << Describe(engine_outcome_);
  AddToHash(engine_outcome_);
  CheckWhoWaits();
  CheckDeadline();
  if (options_.judges.has_invariants) driver_.engine().CheckInvariants();
}

void Simulator::Perform(const Call& call) {
  switch (call.operation) {
    case Operation::kSleep:
      return;
    case Operation::kAdvance:
      return Advance(call);
    case Operation::kUnblock:
      return Unblock(call.connection);
    case Operation::kDisconnect:
      return Disconnect(call.connection, call.undone);
    default:
      Command(call);
      if (!IsSetting(call.operation)) last_request_ = call;
  }
}

void Simulator::Command(const Call& call) {
  driver_.Apply(call, now_, engine_outcome_);
  AskLedger(ledger_.Observe(call, engine_outcome_, now_));
  NoteDeliveries(&call);
  // What an operator changes concerns lines that are still to be looked at.
  if (IsSetting(call.operation)) all_settled_at_ = -1;
  if (!options_.judges.has_model) return;
  model_.Apply(call, now_, model_outcome_);
  Fail(comparison_.CompareOutcomes(engine_outcome_, model_outcome_));
  if (call.key != kAbsent) CompareState(call.key);
}

void Simulator::AskLedger(std::optional<std::string> broken_promise) {
  if (options_.judges.has_ledger) Fail(std::move(broken_promise));
}

void Simulator::CompareState(int key) {
  if (problem_) return;
  // Where something is overdue looking would settle it, and only commands and Advance are to do
  // that.
  const bool is_all_settled = all_settled_at_ == now_;
  const bool is_all_looked_at = !setting_.is_wide || steps_run_ % 64 == 0;
  if (is_all_settled && is_all_looked_at) {
    Fail(comparison_.CompareAllKeys(now_));
  } else if (key != kAbsent) {
    Fail(comparison_.CompareKey(key, now_));
  }
  if (!is_all_looked_at || problem_) return;
  const bool is_model_behind = setting_.is_lagging && !is_all_settled;
  Fail(comparison_.CompareCounts(is_model_behind));
  Fail(comparison_.CompareOverview(is_model_behind, now_));
}

void Simulator::Unblock(int connection) {
  driver_.Unblock(connection, now_, engine_outcome_);
  AskLedger(ledger_.ObserveUnblock(connection, engine_outcome_, now_));
  NoteDeliveries(nullptr);
  if (!options_.judges.has_model) return;
  model_.Unblock(connection, now_, model_outcome_);
  Fail(comparison_.CompareOutcomes(engine_outcome_, model_outcome_));
  CompareState(kAbsent);
}

void Simulator::Disconnect(int connection, std::size_t undone) {
  for (std::size_t i = 0; i < undone && !problem_; ++i) {
    const auto latest =
        std::find_if(deliveries_.rbegin(), deliveries_.rend(),
                     [&](const Delivery& delivery) { return delivery.connection == connection; });
    if (latest == deliveries_.rend()) break;
    const Delivery delivery = *latest;
    deliveries_.erase(std::next(latest).base());
    // What it is granted now is not read either.
    undone += UndoGrant(delivery);
  }
  if (problem_) return;
  std::erase_if(deliveries_, [&](const Delivery& d) { return d.connection == connection; });
  driver_.Disconnect(connection, now_, engine_outcome_);
  AskLedger(ledger_.ObserveDisconnect(connection, engine_outcome_, now_));
  NoteDeliveries(nullptr);
  if (!options_.judges.has_model) return;
  model_.Disconnect(connection, now_, model_outcome_);
  Fail(comparison_.CompareOutcomes(engine_outcome_, model_outcome_));
  CompareState(kAbsent);
}

std::size_t Simulator::UndoGrant(const Delivery& delivery) {
  const bool is_undone = driver_.UndoGrant(delivery.key, delivery.token, now_, engine_outcome_);
  if (options_.trace != nullptr) {
    *options_.trace << " (undo token " << delivery.token << " on k" << delivery.key << ": "
                    << Describe(engine_outcome_) << ")";
  }
  AskLedger(ledger_.ObserveUndo(delivery.key, delivery.token, engine_outcome_, now_));
  NoteDeliveries(nullptr);
  std::size_t more = 0;
  for (const Answer& answer : engine_outcome_.answers) {
    if (answer.connection == delivery.connection && answer.token != 0) ++more;
  }
  if (options_.judges.has_model) {
    model_.UndoGrant(delivery.key, delivery.token, now_, model_outcome_);
    Fail(comparison_.CompareOutcomes(engine_outcome_, model_outcome_));
    CompareState(is_undone ? delivery.key : kAbsent);
  }
  AddToHash(engine_outcome_);
  engine_outcome_.Clear();
  model_outcome_.Clear();
  return more;
}

void Simulator::NoteDeliveries(const Call* call) {
  if (call != nullptr && call->operation == Operation::kLock && engine_outcome_.token != 0) {
    // A repeated LOCK moves the delivery to its own connection.
    std::erase_if(deliveries_, [&](const Delivery& d) { return d.token == engine_outcome_.token; });
    deliveries_.push_back({call->connection, call->key, engine_outcome_.token});
  }
  for (const Answer& answer : engine_outcome_.answers) {
    if (answer.token != 0) deliveries_.push_back({answer.connection, answer.key, answer.token});
  }
  if (std::ssize(deliveries_) > kDeliveriesMax) {
    deliveries_.erase(deliveries_.begin(), deliveries_.end() - kDeliveriesMax);
  }
}

void Simulator::Advance(const Call& call) {
  const bool is_done = driver_.Advance(call, now_, engine_outcome_);
  AskLedger(ledger_.ObserveAdvance(engine_outcome_, is_done, now_));
  NoteDeliveries(nullptr);
  if (is_done && driver_.engine().NextDeadline() <= now_) Fail("a deadline is left that has come");
  if (problem_ || !options_.judges.has_model) return;
  Follow(is_done);
  if (is_done) all_settled_at_ = now_;
  CompareState(kAbsent);
}

void Simulator::Follow(bool is_done) {
  model_.EndOverrides(now_);
  for (const Answer& answer : engine_outcome_.answers) {
    FollowAnswer(answer);
    if (problem_) return;
  }
  FollowSilentEnds();
  FollowUnseenEnds();
  for (int key = 0; is_done && key < static_cast<int>(setting_.keys.size()); ++key) {
    while (model_.HappenNext(key, now_, model_outcome_)) {
    }
  }
  if (!model_outcome_.answers.empty()) {
    Fail("only the model answers: " + Describe(model_outcome_));
  }
}

void Simulator::FollowAnswer(const Answer& answer) {
  // The order of the keys is the engine's affair; what one event does on its key comes together.
  std::vector<Answer>& known = model_outcome_.answers;
  auto found = std::ranges::find(known, answer);
  while (found == known.end()) {
    if (!model_.HappenNext(answer.key, now_, model_outcome_)) {
      return Fail("the model does not know this answer: " + Describe(answer));
    }
    found = std::ranges::find(known, answer);
  }
  const bool is_in_order = std::none_of(known.begin(), found, [&](const Answer& other) {
    return other.key == answer.key && IsWatchAnswer(other.kind) == IsWatchAnswer(answer.kind);
  });
  if (!is_in_order) return Fail("an answer comes before its turn: " + Describe(answer));
  known.erase(found);
}

void Simulator::FollowSilentEnds() {
  // LOCKS tells without settling what has ended, except for cooling rooms and
  // places passed over.
  const std::vector<Comparison::Sight> sights = comparison_.SeeAll(now_);
  for (std::size_t i = 0; i < sights.size(); ++i) {
    const int key = static_cast<int>(i);
    const ModelKey& known = model_.key(key);
    const Comparison::Sight& seen = sights[i];
    while (known.holds.size() > seen.holders || known.CountStanding() > seen.standing ||
           known.IsEmpty() < !seen.exists) {
      if (!model_.HappenNext(key, now_, model_outcome_)) {
        return Fail("a hold or a place ended early on k" + std::to_string(key));
      }
    }
  }
}

void Simulator::FollowUnseenEnds() {
  // Of these only the counts of the whole engine tell: it ends what is due in the order of time.
  const engine::EngineCounts& seen = driver_.engine().counts();
  while (true) {
    const engine::EngineCounts known = model_.Counts();
    if (known.places <= seen.places && known.cooling <= seen.cooling) return;
    int first_key = kAbsent;
    std::optional<ModelEvent> first;
    for (int key = 0; key < static_cast<int>(setting_.keys.size()); ++key) {
      const std::optional<ModelEvent> event = model_.key(key).FirstDue(now_);
      if (!event || (first && !(event->Rank() < first->Rank()))) continue;
      if (event->event_class != ModelEvent::Class::kCooling &&
          event->event_class != ModelEvent::Class::kAbsence) {
        continue;
      }
      first = event;
      first_key = key;
    }
    if (!first) return Fail("a place or a cooling room ended early");
    model_.HappenNext(first_key, now_, model_outcome_);
  }
}

void Simulator::CheckWhoWaits() {
  if (!options_.judges.has_ledger) return;
  for (int slot = 0; slot < setting_.connections && !problem_; ++slot) {
    const int connection = driver_.ConnectionIn(slot);
    if (driver_.IsWaiting(slot) != ledger_.IsWaiting(connection)) {
      Fail("c" + std::to_string(connection) + " waits in the engine or for its client, not both");
    }
  }
}

void Simulator::CheckDeadline() {
  if (setting_.is_wide || !options_.judges.has_model) return;
  const TimeMs deadline = driver_.engine().NextDeadline();
  // What ends in a tick is over in the next.
  const TimeMs true_deadline = After(model_.NextDeadline(), 1);
  // A lagging Advance may have ended what the model still has before it.
  if (setting_.is_lagging && true_deadline <= now_) return;
  if (deadline > true_deadline) Fail("the next deadline is late");
  const bool is_anything_running = true_deadline != engine::kNever;
  if (!is_anything_running && deadline != engine::kNever) Fail("a deadline where nothing runs");
}

// The end
void Simulator::FinishRun() {
  engine_outcome_.Clear();
  model_outcome_.Clear();
  Call call;
  call.operation = Operation::kAdvance;
  call.steps_max = setting_.is_lagging ? 3 : 1'000'000;
  Advance(call);
  AddToHash(engine_outcome_);
  if (problem_) return;
  driver_.CloseAll(now_);
  if (setting_.seed % 4 < 2) {
    engine::Effects effects;
    for (const KeyText& key : setting_.keys) {
      driver_.engine().Break(key.name(), std::nullopt, now_, effects);
    }
  }
  // Leases, and then what MINHOLD and KEEP leave.
  for (int i = 0; i < 2; ++i) {
    now_ += engine::kLeaseMsMax + 1;
    engine_outcome_.Clear();
    driver_.Advance(call, now_, engine_outcome_);
  }
  CheckNothingIsLeft();
}

void Simulator::CheckNothingIsLeft() {
  engine::LockEngine& engine = driver_.engine();
  if (options_.judges.has_invariants) engine.CheckInvariants();
  const engine::EngineCounts& counts = engine.counts();
  if (counts.locks + counts.holds + counts.places + counts.watchers != 0) {
    Fail("locks, holds, places or watchers are left when all is released");
  }
  if (engine.NextDeadline() != engine::kNever) Fail("a timer is left when all is released");
  if (engine.clients().size() != 0) Fail("clients are left when all is released");
  for (std::uint8_t db = 0; db < engine::kDatabases; ++db) {
    if (engine.CountLocks(db) != 0) Fail("a database is not empty when all is released");
  }
}

void Simulator::AddToHash(const Outcome& outcome) {
  const auto add = [&](std::uint64_t value) {
    hash_ = (hash_ ^ value) * 0x100000001b3ULL;
    hash_ ^= hash_ >> 29;
  };
  add(static_cast<std::uint64_t>(now_));
  add(static_cast<std::uint64_t>(outcome.status * 16 + outcome.reason));
  add(outcome.token);
  add(static_cast<std::uint64_t>(outcome.number));
  add(static_cast<std::uint64_t>(outcome.extra));
  for (const Answer& answer : outcome.answers) {
    add(static_cast<std::uint64_t>(answer.connection) * 64 +
        static_cast<std::uint64_t>(answer.kind));
    add(answer.token);
  }
}

RunReport RunSteps(const Setting& setting, std::span<const Step> steps,
                   const SimulatorOptions& options) {
  std::vector<std::size_t> indices(steps.size());
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  return Simulator(setting, options).Run(steps, indices);
}

}  // namespace fairlock::simulation
