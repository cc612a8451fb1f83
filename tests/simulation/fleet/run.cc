#include "tests/simulation/fleet/run.h"

#include <algorithm>
#include <utility>

#include "server/command/handlers/command_families.h"
#include "storage/records/token_blocks.h"

namespace fairlock::fleet {

namespace {

constexpr std::size_t kTimersOfATurn = 1000;
constexpr engine::DurationMs kTurnWaitMsMax = 500;
constexpr std::int64_t kBeginningOf2020 = 1'577'836'800;  // Unix seconds
constexpr TimeUs kWallStart = 1'700'000'000 * kSecond;

engine::EngineOptions EngineOptionsOf(const RunOptions& options, std::int64_t unix_ms) {
  engine::EngineOptions engine;
  engine.first_token = storage::FirstToken(
      {.seconds_since_2020 = static_cast<std::uint64_t>(unix_ms / 1'000 - kBeginningOf2020)});
  engine.stores_all_places = options.keeps_lines;
  return engine;
}

// The same value as in PersistenceService.
command::Service ServiceOf(const persist::StateLogState& state) {
  if (state.has_failed) return command::Service::kFailed;
  if (!state.is_ready) return command::Service::kLoading;
  if (state.is_unsure) return command::Service::kClusterDown;
  return command::Service::kWorking;
}

}  // namespace

Run::Run(const RunOptions& options, LinkNetwork& network, RunHooks hooks)
    : options_(options),
      network_(network),
      hooks_(std::move(hooks)),
      process_{.name = options.node},
      parts_(command::WholeLanguage(), EngineOptionsOf(options, UnixMs()), environment_.Given(),
             BoottimeMs(), {.history_bytes = 0, .labels_max = 0}),
      turn_{.parts = parts_,
            .network = network_,
            .process = process_,
            .now = BoottimeMs(),
            .by = {.run = options.number}} {
  parts_.availability.set_service(command::Service::kClusterDown);
}

Run::~Run() { assert(*has_ended_); }

engine::TimeMs Run::MachineBoottimeMs() const {
  return (Time().now() + options_.boot_offset) / kMs;
}

engine::TimeMs Run::BoottimeMs() const {
  return held_at_ >= 0 ? held_at_ : MachineBoottimeMs() - held_ms_;
}

void Run::HoldBoottime(bool is_held) {
  if (is_held == (held_at_ >= 0)) return;
  if (is_held) {
    held_at_ = BoottimeMs();
  } else {
    const engine::TimeMs held_at = std::exchange(held_at_, -1);
    held_ms_ += BoottimeMs() - held_at;
  }
}

std::int64_t Run::UnixMs() const {
  return (kWallStart + Time().now() + options_.wall_offset()) / kMs;
}

void Run::Start(std::function<void(RunEnd)> on_end) {
  *has_ended_ = false;
  main_ = Time().Spawn(
      process_,
      [this, on_end = std::move(on_end)] {
        Main();
        on_end(End());
      },
      has_ended_);
}

void Run::Wake() {
  is_woken_ = true;
  if (!*has_ended_) Time().Ready(*main_);
}

void Run::Accept(const std::shared_ptr<Link>& link) {
  link->on_input = [this] { Wake(); };
  to_accept_.push_back(link);
  Wake();
}

void Run::Stop() {
  is_stop_asked_ = true;
  Wake();
}

void Run::AcceptRestore() {
  if (!home_ || !home_->standby().AwaitsAcceptance()) return;
  Tell("its operator accepts that etcd was restored");
  home_->standby().AcceptRestore();
}

void Run::Main() {
  StandBy();
  while (!process_.is_dead && !is_over_) {
    RunTurn();
    Time().SleepUntil(Time().now() + options_.turn);
    if (!is_over_) Await();
  }
}

void Run::StandBy() {
  etcd_.endpoints = {{.address = "etcd"}};
  if (options_.has_second_endpoint) {
    etcd_.endpoints.push_back({.address = "etcd2"});
    etcd_.pin = std::make_shared<storage::etcd::ClusterPin>();
  }
  auto home = storage::replicated::ClusterHome::Open(
      {.etcd = etcd_,
       .fleet = kFleetName,
       .node = options_.node,
       .address = options_.node,
       .now_ms = [this] { return BoottimeMs(); },
       .on_leader =
           [this](const storage::replicated::LeaderView& view) {
             if (!view.is_this_node) return;
             Tell("has taken over");
             hooks_.taken_over();
           },
       .highest = options_.highest});
  assert(home.ok());
  home_ = std::move(home.value());
  if (options_.has_records) {
    Join();
  } else {
    Serve(0);
  }
  reader_ = Thread([this] {
    storage::Status status = home_->AwaitLeadership([this]() -> storage::ChangeSink& {
      rows_ = persist::LoadedRows();
      return rows_;
    });
    if (status.ok()) status = rows_.Finish();
    loaded_ = status;
    Wake();
  });
}

// Takes the steps of PersistenceService::StartNode.
void Run::Join() {
  membership_.emplace(*home_, MembershipOptions{.node = options_.node,
                                                .run = id(),
                                                .etcd = etcd_,
                                                .machine = options_.machine,
                                                .started_unix_ms = UnixMs(),
                                                .partition = options_.partition,
                                                .balance_after = options_.balance_after,
                                                .now_ms = [this] { return MachineBoottimeMs(); },
                                                .on_view =
                                                    [this] {
                                                      has_view_ = true;
                                                      Wake();
                                                    },
                                                .unsure_ms = [this] { return UnsureMs(); },
                                                .reaches = hooks_.reaches,
                                                .ranked = hooks_.ranked});
  parts_.environment.fleet = &*membership_;
}

// Does what the hook of PersistenceService does.
engine::DurationMs Run::UnsureMs() const {
  return confirmation_.is_unsure() ? confirmation_.unconfirmed_ms(MachineBoottimeMs()) : -1;
}

// Takes the steps of FleetService::TakeView and Join.
void Run::TakeView() {
  if (const std::string refusal = membership_->TakeView(); !refusal.empty()) {
    Tell("ends: " + refusal);
    error_ = refusal;
    is_over_ = true;
    return;
  }
  if (!membership_->successor().empty() && is_ready() && !is_stop_asked_) {
    successor_ = membership_->successor();
    is_stop_asked_ = true;
    Tell("hands over to " + successor_ + " for the balance");
  }
  if (partition_ || !membership_->assignment()) return;
  const storage::replicated::Assignment& assignment = *membership_->assignment();
  if (assignment.partitions > 1) {
    parts_.ServePartition(assignment.partition, assignment.partitions);
  }
  Tell("serves partition " + std::to_string(assignment.partition));
  Serve(assignment.partition);
}

void Run::Serve(std::uint32_t partition) {
  partition_ = partition;
  turn_.by.partition = static_cast<int>(partition);
  home_->UsePartition(partition);
}

void Run::Await() {
  const TimeUs until = NextTurnAt();
  while (!is_woken_ && !process_.is_dead && Time().now() < until) Time().BlockUntil(until);
  is_woken_ = false;
}

// Does what TurnLoop::WaitMsMax does.
TimeUs Run::NextTurnAt() const {
  engine::TimeMs next = parts_.NextDeadline();
  if (state_log_) next = std::min(next, state_log_->NextDeadline());
  const engine::DurationMs wait_ms =
      next == engine::kNever
          ? kTurnWaitMsMax
          : std::clamp<engine::DurationMs>(next - BoottimeMs(), 0, kTurnWaitMsMax);
  return Time().now() + wait_ms * kMs;
}

void Run::TakeLead() {
  if (!loaded_->ok()) {
    if (loaded_->code() == storage::StatusCode::kDeposed) {
      is_deposed_ = true;
    } else {
      error_ = loaded_->message();
    }
    Tell("ends: " + loaded_->message());
    is_over_ = true;
    return;
  }
  Tell("leads, epoch " + std::to_string(home_->epoch()) + ", " + std::to_string(rows_.size()) +
       " rows");
  if (membership_) membership_->TakeLead();
  turn_.by.loaded_at = Time().now();
  hooks_.led(turn_.by);
  state_log_.emplace(
      parts_.locks.engine(), *home_, rows_,
      persist::StateLogOptions{
          .durability = persist::Durability::kSync,
          .restart_grace_ms = options_.restart_grace_ms,
          .confirms_replies = true,
          .snapshots = {.bytes_of_a_batch = StoreSizes::bytes_of_a_batch},
          .wake = [this] { Wake(); },
          .unix_ms = [this] { return UnixMs(); },
          .monotonic_ns = [] { return static_cast<std::uint64_t>(Time().now()) * 1000; }},
      parts_.locks.StepAt(BoottimeMs()));
  turn_.state_log = &*state_log_;
  FollowConfirmation();
  parts_.notifier.FollowRestore(BoottimeMs());
}

// Follows the order of net::TurnLoop::RunTurn.
void Run::RunTurn() {
  environment_.unix_time_us = UnixMs() * 1000;
  if (membership_ && std::exchange(has_view_, false)) TakeView();
  if (is_over_) return;
  if (loaded_ && !state_log_ && !is_stop_asked_) TakeLead();
  if (is_over_) return;
  for (const auto& link : std::exchange(to_accept_, {})) connections_.emplace_back(turn_, link);
  const bool executes = !state_log_ || !state_log_->is_lagging();
  if (executes) {
    for (ServerConnection& connection : connections_) connection.Receive();
  }
  turn_.now = std::max(turn_.now, BoottimeMs());
  if (state_log_) BeginTurn();
  for (ServerConnection& connection : connections_) connection.CloseIfDisconnected();
  parts_.Advance(turn_.now, kTimersOfATurn);
  if (executes) {
    for (ServerConnection& connection : connections_) connection.Execute();
  }
  FinishConnections();
  CloseIfUnconfirmed();
  TellReport();
  if (is_deposed_ || is_stop_asked_) {
    HandOver();
    return;
  }
  if (state_log_) state_log_->EndTurn(turn_.now);
  std::erase_if(connections_, [](const auto& connection) { return connection.is_closed(); });
}

void Run::BeginTurn() {
  state_log_->BeginTurn(turn_.now);
  const persist::StateLogState state = state_log_->state();
  if (std::exchange(state_, state) != state) OnChange(state);
  FinishConnections();
}

// Does what PersistenceService::FollowConfirmation does.
void Run::FollowConfirmation() {
  const persist::StateLogState state = state_log_->state();
  confirmation_.See(state, MachineBoottimeMs());
  HoldBoottime(confirmation_.stops_leases());
  if (state.has_failed) {
    unconfirmed_since_.reset();
  } else if (!state.is_ready || state.is_unsure) {
    unconfirmed_since_ = unconfirmed_since_.value_or(Time().now());
  } else if (unconfirmed_since_) {
    hooks_.confirmed(turn_.by, *unconfirmed_since_);
    unconfirmed_since_.reset();
  }
}

// Does what PersistenceService::OnUnconfirmed does.
void Run::CloseIfUnconfirmed() {
  if (MachineBoottimeMs() < confirmation_.close_at()) return;
  Tell("closes the connections of its clients");
  for (ServerConnection& connection : connections_) connection.Close();
  confirmation_.NoteClosed(MachineBoottimeMs());
}

// Now and then, someone asks for CLUSTER NODES, INFO, or the like.
void Run::TellReport() {
  constexpr TimeUs kEvery = 300 * kMs;
  if (!membership_ || !partition_ || Time().now() < told_at_ + kEvery) return;
  told_at_ = Time().now();
  hooks_.told(membership_->Report(), state_.is_unsure);
}

void Run::FinishConnections() {
  for (ServerConnection& connection : connections_) connection.Finish();
}

void Run::OnChange(const persist::StateLogState& state) {
  parts_.availability.set_service(ServiceOf(state));
  FollowConfirmation();
  if (state.is_ready && !state.has_failed) {
    Tell(state.is_unsure ? "unsure: etcd confirms nothing" : "sure and ready");
  }
  if (!state.has_failed) return;
  const storage::Status failure = state_log_->failure();
  Tell("its log failed: " + failure.message());
  is_deposed_ = failure.code() == storage::StatusCode::kDeposed;
  if (!is_deposed_) {
    error_ = failure.message();
    is_over_ = true;
  }
}

// Follows the order of TurnLoop::BeginStop and Server::Run.
void Run::HandOver() {
  is_over_ = true;
  HoldBoottime(false);
  if (home_ && (!state_log_ || state_log_->state().is_unsure)) home_->Stop();
  if (!state_log_) return;
  state_log_->Seal(turn_.now);
  if (!state_log_->AwaitJournal(persist::kUnsureAfterMs + persist::kKeepUnsureMs)) {
    for (ServerConnection& connection : connections_) connection.Close();
  }
  FinishConnections();
  state_log_->Stop(turn_.now);
  parts_.locks.engine().Freeze();
  // A waiting client's connection is closed, and so are the others when they have their replies.
  for (ServerConnection& connection : connections_) connection.Close();
  if (is_deposed_ || state_log_->state().has_failed) return;
  home_->Stop();
  const storage::Status status = home_->HandOver(Successor());
  Tell(status.ok() ? "handed over" : "did not hand over: " + status.message());
}

// Does what FleetService::Successor does.
std::string Run::Successor() const {
  if (!membership_) return "";
  const std::string successor = balances() ? successor_ : membership_->WarmestStandby();
  const storage::replicated::TimeMs read_at = membership_->read_at();
  if (read_at == storage::replicated::kNever) return successor;
  hooks_.hands_over({.leader = options_.node,
                     .partition = partition_.value(),
                     .successor = successor,
                     .known_at = read_at * kMs - options_.boot_offset});
  return successor;
}

RunEnd Run::End() {
  is_over_ = true;
  for (const auto& link : std::exchange(to_accept_, {})) network_.CloseAtServer(link);
  connections_.clear();
  if (home_) home_->Stop();
  if (reader_.joinable()) reader_.join();
  state_log_.reset();
  turn_.state_log = nullptr;
  if (home_) epoch_ = home_->epoch();
  const bool starts_again = is_deposed_ || balances();
  if (starts_again) highest_ = home_->HighestSeen();
  if (membership_ && starts_again) membership_->KeepRecord();
  parts_.environment.fleet = nullptr;
  membership_.reset();
  home_.reset();
  if (process_.is_dead) return RunEnd::kKilled;
  if (is_deposed_) return RunEnd::kDeposed;
  if (!error_.empty()) return RunEnd::kFailed;
  return balances() ? RunEnd::kBalances : RunEnd::kStopped;
}

}  // namespace fairlock::fleet
