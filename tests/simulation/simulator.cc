#include "tests/simulation/simulator.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "tests/simulation/narration.h"

namespace fairlock::simulation {
namespace {

// Only the most recent grants may be undone.
constexpr std::ptrdiff_t kDeliveriesMax = 64;

bool IsDoneToConnection(Operation operation) {
  return operation == Operation::kUnblock || operation == Operation::kDisconnect;
}

bool IsDoneToChannel(Operation operation) {
  return operation == Operation::kSubscribe || operation == Operation::kUnsubscribe;
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
      event_book_(setting.keys.size()),
      now_(setting.start),
      is_open_(setting.channels.size()) {}

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
  } else if (IsDoneToChannel(step.operation)) {
    call.channel = step.channel;
    call.undone = step.undone;
  } else if (step.operation == Operation::kBeginStep) {
    call.count = 1 + step.count;
  } else {
    return Resolve(step);
  }
  return call;
}

void Simulator::Execute(const Step& step) {
  if (!IsRequest(step.operation)) EndStep();
  engine_outcome_.Clear();
  model_outcome_.Clear();
  const std::optional<Call> call = Prepare(step);
  if (!call || problem_) return;
  if (options_.trace != nullptr) *options_.trace << Narrate(*call, now_) << std::flush;
  Perform(*call);
  if (options_.trace != nullptr) *options_.trace << " -> " << Describe(engine_outcome_);
  AddToHash(engine_outcome_);
  NoteDoneInStep(*call);
  CheckWhoWaits();
  CheckDeadline();
  if (options_.judges.has_invariants) driver_.engine().CheckInvariants();
}

void Simulator::NoteDoneInStep(const Call& call) {
  if (left_in_step_ == 0 || !IsRequest(call.operation)) return;
  for (int key : call.named()) step_keys_.push_back(key);
  if (left_in_step_ == 1) return EndStep();
  --left_in_step_;
}

void Simulator::BeginStep(std::size_t commands) {
  left_in_step_ = commands;
  driver_.BeginStep(now_);
  ledger_.BeginStep();
  model_.BeginStep(now_);
}

void Simulator::EndStep() {
  if (left_in_step_ == 0) return;
  left_in_step_ = 0;
  engine_outcome_.Clear();
  model_outcome_.Clear();
  driver_.EndStep(now_, engine_outcome_);
  AskLedger(ledger_.ObserveStepEnd(engine_outcome_, now_));
  NoteDeliveries(nullptr);
  if (options_.judges.has_model) {
    model_.EndStep(now_, model_outcome_);
    Fail(comparison_.CompareOutcomes(engine_outcome_, model_outcome_));
    CompareState(step_keys_);
  }
  step_keys_.clear();
  if (options_.trace != nullptr)
    *options_.trace << " (end of the step: " << Describe(engine_outcome_) << ")";
  AddToHash(engine_outcome_);
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
    case Operation::kBeginStep:
      return BeginStep(call.count);
    case Operation::kFlush:
      SettleAll();
      return Command(call);
    case Operation::kSubscribe:
      return Subscribe(call);
    case Operation::kUnsubscribe:
      return Unsubscribe(call);
    default:
      Command(call);
      if (!IsSetting(call.operation)) last_request_ = call;
  }
}

void Simulator::Command(const Call& call) {
  driver_.Apply(call, now_, engine_outcome_);
  AskLedger(ledger_.Observe(call, engine_outcome_, now_));
  NoteDeliveries(&call);
  // After an operator's change, there may be queues that have not been examined yet.
  if (IsSetting(call.operation)) all_settled_at_ = -1;
  if (!options_.judges.has_model) return;
  model_.Apply(call, now_, model_outcome_);
  Fail(comparison_.CompareOutcomes(engine_outcome_, model_outcome_));
  if (call.key != kAbsent) CompareState(call.named());
}

void Simulator::SettleAll() {
  if (all_settled_at_ == now_) return;
  Call call;
  call.operation = Operation::kAdvance;
  call.steps_max = 1'000'000;
  Advance(call);
  engine_outcome_.Clear();
  model_outcome_.Clear();
}

void Simulator::AskLedger(std::optional<std::string> broken_promise) {
  if (options_.judges.has_ledger) Fail(std::move(broken_promise));
}

void Simulator::CompareState(const std::vector<int>& keys) {
  event_book_.Note(engine_outcome_.events, model_.TakeTold());
  if (problem_) return;
  Fail(event_book_.Compare(!setting_.is_lagging || all_settled_at_ == now_));
  if (problem_) return;
  // If something is overdue, reading would settle it, and only commands and Advance may do that.
  const bool is_all_settled = all_settled_at_ == now_;
  const bool is_all_looked_at = !setting_.is_wide || steps_run_ % 64 == 0;
  if (is_all_settled && is_all_looked_at) {
    Fail(comparison_.CompareAllKeys(now_));
  } else {
    for (int key : keys) Fail(comparison_.CompareKey(key, now_));
  }
  if (!is_all_looked_at || problem_) return;
  const bool is_model_behind = setting_.is_lagging && !is_all_settled;
  Fail(comparison_.CompareCounts(is_model_behind));
  Fail(comparison_.CompareOverview(is_model_behind, now_));
}

void Simulator::NoteDeliveries(const Call* call) {
  const bool is_given =
      call != nullptr && left_in_step_ == 0 &&
      (call->operation == Operation::kSet || call->operation == Operation::kMsetNx) &&
      engine_outcome_.status == static_cast<int>(engine::WriteStatus::kGranted);
  for (std::size_t i = 0; is_given && i < call->named().size(); ++i) {
    const Token token = engine_outcome_.token - (call->named().size() - 1 - i);
    deliveries_.push_back({call->connection, call->named()[i], token});
  }
  const bool is_asking =
      call != nullptr && (call->operation == Operation::kLock || call->is_mlock());
  if (is_asking && engine_outcome_.token != 0) {
    // After a repeated LOCK, the grant counts as delivered to the connection of the repetition.
    std::erase_if(deliveries_, [&](const Delivery& d) { return d.token == engine_outcome_.token; });
    // The grants of a step cannot be undone.
    if (left_in_step_ == 0) {
      deliveries_.push_back({call->connection, call->key, engine_outcome_.token});
    }
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
  CompareState({});
}

void Simulator::Follow(bool is_done) {
  model_.EndOverrides(now_);
  expiries_followed_ = 0;
  for (const Answer& answer : engine_outcome_.answers) {
    FollowAnswer(answer);
    if (problem_) return;
  }
  // LOCKS shows what has ended, without settling anything.
  const std::vector<Comparison::Sight> sights = comparison_.SeeAll(now_);
  while (!problem_ && (is_done || IsModelBehind(sights))) {
    if (FollowNext()) continue;
    if (!is_done) Fail("something ended early");
    break;
  }
  if (!model_outcome_.answers.empty()) {
    Fail("only the model answers: " + Describe(model_outcome_));
  }
  if (!Comparison::HasSameLosses(engine_outcome_, model_outcome_)) {
    Fail("other losses are told: " + Describe(engine_outcome_) +
         "\nmodel:  " + Describe(model_outcome_));
  }
}

void Simulator::FollowAnswer(const Answer& answer) {
  std::vector<Answer>& known = model_outcome_.answers;
  auto found = std::ranges::find(known, answer);
  while (found == known.end()) {
    if (!FollowNext()) return Fail("the model does not know this answer: " + Describe(answer));
    found = std::ranges::find(known, answer);
  }
  const bool is_in_order = std::none_of(known.begin(), found, [&](const Answer& other) {
    return other.key == answer.key && IsWatchAnswer(other.kind) == IsWatchAnswer(answer.kind);
  });
  if (!is_in_order) return Fail("an answer comes before its turn: " + Describe(answer));
  known.erase(found);
}

bool Simulator::FollowNext() {
  const std::optional<int> first = model_.FirstDueKey(now_);
  if (!first) {
    std::vector<int> all(setting_.keys.size());
    std::iota(all.begin(), all.end(), 0);
    return model_.LookAtUnseen(all, now_, model_outcome_);
  }
  const ModelEvent event = *model_.key(*first).FirstDue(now_);
  if (event.event_class != ModelEvent::Class::kLease) {
    return model_.HappenNext(*first, now_, model_outcome_);
  }
  // If leases on different keys end in the same tick, the engine may end them in any order.
  const std::vector<Expiry>& expiries = engine_outcome_.expiries;
  if (expiries_followed_ == expiries.size()) return false;
  const Expiry& next = expiries[expiries_followed_++];
  const std::optional<ModelEvent> there =
      next.key == kAbsent ? std::nullopt : model_.key(next.key).FirstDue(now_);
  const bool is_first = there && there->time == event.time &&
                        there->event_class == ModelEvent::Class::kLease &&
                        model_.key(next.key).holds[there->index].token == next.token;
  if (!is_first) {
    Fail("a lease ended before its turn: token " + std::to_string(next.token) + " on k" +
         std::to_string(next.key));
    return false;
  }
  return model_.HappenNext(next.key, now_, model_outcome_);
}

bool Simulator::IsModelBehind(const std::vector<Comparison::Sight>& sights) {
  // Cooldowns and skipped places are visible only in the counts.
  if (expiries_followed_ < engine_outcome_.expiries.size()) return true;
  const engine::EngineCounts& seen = driver_.engine().counts();
  const engine::EngineCounts known = model_.Counts();
  if (known.places > seen.places || known.cooldowns > seen.cooldowns) return true;
  for (std::size_t i = 0; i < sights.size(); ++i) {
    const ModelKey& key = model_.key(static_cast<int>(i));
    if (key.holds.size() > sights[i].holders || key.CountStanding() > sights[i].standing ||
        key.IsEmpty() < !sights[i].exists) {
      return true;
    }
  }
  return false;
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
  // Something that ends in one tick is over only in the next tick.
  const TimeMs true_deadline = After(model_.NextDeadline(), 1);
  // A lagging Advance may already have ended what still exists in the model.
  if (setting_.is_lagging && true_deadline <= now_) return;
  if (deadline > true_deadline) Fail("the next deadline is late");
  const bool is_anything_running = true_deadline != engine::kNever;
  if (!is_anything_running && deadline != engine::kNever) Fail("a deadline where nothing runs");
}

void Simulator::FinishRun() {
  EndStep();
  engine_outcome_.Clear();
  model_outcome_.Clear();
  Call call;
  call.operation = Operation::kAdvance;
  call.steps_max = setting_.is_lagging ? 3 : 1'000'000;
  Advance(call);
  AddToHash(engine_outcome_);
  if (problem_) return;
  if (setting_.seed % 4 == 3) return StopCleanly();
  driver_.CloseAll(now_);
  if (setting_.seed % 4 < 2) {
    engine::Effects effects;
    for (const KeyText& key : setting_.keys) {
      driver_.engine().Break(key.name(), std::nullopt, {now_, effects});
    }
  }
  BreakEndless();
  // The first round ends the leases, and the second one what MINHOLD and KEEP retain.
  for (int i = 0; i < 2; ++i) {
    now_ += engine::kLeaseMsMax + 1;
    engine_outcome_.Clear();
    driver_.Advance(call, now_, engine_outcome_);
  }
  CheckNothingIsLeft();
}

// Connections end one by one, with unread grants, and time passes, but clients must be told
// nothing: the state was written when the engine froze, so anything they were told later would be
// false after the restart.
void Simulator::StopCleanly() {
  engine::LockEngine& engine = driver_.engine();
  const engine::EngineCounts counts = engine.counts();
  engine.Freeze();
  engine_outcome_.Clear();
  for (const Delivery& delivery : deliveries_) {
    driver_.UndoGrant(delivery.key, delivery.token, now_, engine_outcome_);
  }
  for (int slot = 0; slot < setting_.connections; ++slot) {
    const int connection = driver_.ConnectionIn(slot);
    if (slot % 2 == 0) driver_.Unblock(connection, now_, engine_outcome_);
    driver_.Disconnect(connection, now_, engine_outcome_);
  }
  for (int channel = 0; channel < static_cast<int>(setting_.channels.size()); ++channel) {
    if (is_open_[static_cast<std::size_t>(channel)]) {
      driver_.CloseChannel(channel, now_, engine_outcome_);
    }
  }
  if (engine.NextDeadline() != engine::kNever) Fail("a deadline is left after a clean stop");
  now_ += engine::kLeaseMsMax + 1;
  Call call;
  call.operation = Operation::kAdvance;
  call.steps_max = 1'000'000;
  driver_.Advance(call, now_, engine_outcome_);
  if (!engine_outcome_.IsSilent()) Fail("told after a clean stop: " + Describe(engine_outcome_));
  if (!(engine.counts() == counts)) Fail("the state has changed after a clean stop");
}

// Ends the holds that were set without an expiry.
void Simulator::BreakEndless() {
  engine::Effects effects;
  for (int key = 0; key < static_cast<int>(setting_.keys.size()); ++key) {
    const RedisSight sight = driver_.SeeAsRedis(key, now_);
    if ((sight.bits & RedisSight::kHeld) == 0 || sight.ttl_ms > 0) continue;
    const KeyText& text = setting_.keys[static_cast<std::size_t>(key)];
    driver_.engine().Break(text.name(), std::nullopt, {now_, effects});
  }
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
