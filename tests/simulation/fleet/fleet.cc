#include "tests/simulation/fleet/fleet.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

#include "storage/replicated/fleet_record.h"
#include "tests/simulation/fleet/seams.h"
#include "tests/simulation/fleet/simulated_fleet.h"

namespace fairlock::fleet {

namespace {

constexpr TimeUs kTrouble = 20 * kSecond;   // how long faults occur
constexpr TimeUs kRecovery = 15 * kSecond;  // within this time after the faults, a node must lead
// How long it takes to hand over, and then to start again.
constexpr TimeUs kHandOverAndStartMax = 10 * kSecond;
// How many frames the log may have in addition to the batches after which a snapshot begins: the
// snapshot itself, and the batches that are written meanwhile.
constexpr std::uint64_t kFramesOfSnapshotMax = 30;
constexpr int kBalances = 4;  // how many hand-overs for the balance there is time for after that

}  // namespace

SimulatedFleet::SimulatedFleet(const Setting& setting, bool has_history)
    : setting_(setting),
      has_history_(has_history),
      random_(setting.seed * 7919 + 1),
      clock_random_(setting.seed ^ 0x636c6f63),
      etcd_random_(setting.seed ^ 0x6f706572),
      etcd_(setting.etcd_revision),
      network_(etcd_, random_.Next()),
      links_(random_.Next()),
      ledger_({.owners = setting.clients,
               .keys = setting.keys,
               .restart_grace = setting.restart_grace,
               .keeps_lines = setting.keeps_lines}),
      world_{.ledger = ledger_,
             .network = links_,
             .connect = [this](int node) { return Connect(node); },
             .is_silent = [this](const Link& link) { return IsSilent(link); },
             .next_number = [this] { return ++requests_; },
             .tell = [this](const Request& request,
                            const std::string& text) { TellRequest(request, text); }},
      assignments_(storage::replicated::FleetPrefix(kFleetName),
                   static_cast<std::uint32_t>(setting.partitions)),
      balance_({.prefix = storage::replicated::FleetPrefix(kFleetName),
                .partitions = static_cast<std::uint32_t>(setting.partitions),
                .balance_after = setting.balance_after,
                .leads = [this](const std::string& node,
                                std::uint32_t partition) { return Leads(node, partition); },
                .balances = [this](const std::string& node) { return Balances(node); }}),
      reports_(storage::replicated::FleetPrefix(kFleetName)),
      succession_(storage::replicated::FleetPrefix(kFleetName)),
      log_(setting.batches_max == 0 ? 0 : setting.batches_max + kFramesOfSnapshotMax) {
  RandomDevice::next = 0;
  StoreSizes::frame_bytes_max = setting.frame_bytes_max;
  StoreSizes::compact_every = setting.compact_every;
  StoreSizes::batch_bytes_max = setting.batch_bytes_max;
  StoreSizes::bytes_of_a_batch =
      setting.batches_max == 0 ? 0 : setting.batch_bytes_max / setting.batches_max;
  StoreSizes::kept_bytes_max = setting.kept_bytes_max;
  network_.set_faults(setting.network);
  for (int number = 0; number < setting.nodes + setting.late_nodes; ++number) AddNode(number);
  network_.ReportMisled([this](const std::string& process) {
    Fail(process + " uses another etcd cluster than the one that it has used before");
  });
  etcd_.Report([this](const etcd::WatchEvent& event) { Hear(event); });
  if (setting.has_records) CreateFleet();
}

void SimulatedFleet::Hear(const etcd::WatchEvent& event) {
  CheckTakeOver(event.kv);
  log_.Hear(event);
  for (const std::string_view name : {"restored", "accepted"}) {
    if (event.kv.key.ends_with("/" + std::string(name))) {
      TellEvent("up to epoch " + event.kv.value + ", etcd's loss is " +
                (name == "restored" ? "noticed" : "accepted"));
    }
  }
  if (!setting_.has_records) return;
  assignments_.Hear(event);
  balance_.Hear(event, scheduler_.now());
  reports_.Hear(event, scheduler_.now());
  succession_.Hear(event, scheduler_.now());
  if (event.kv.key.ends_with("/claims")) TroubleHandOver(event.kv.value);
}

// No node takes over while another one has noticed a restore that no operator has accepted.
void SimulatedFleet::CheckTakeOver(const etcd::KeyValue& written) {
  if (!written.key.ends_with("/beat")) return;
  const auto beat = storage::replicated::DecodeBeat(written.value);
  if (!beat.ok()) return;
  std::uint64_t& epoch = epochs_[written.key];
  if (std::exchange(epoch, beat->epoch) >= beat->epoch) return;
  const std::string prefix = written.key.substr(0, written.key.size() - 4);
  const auto number_in = [&](const std::string& key) -> std::uint64_t {
    const auto answer = etcd_.Range({.key = prefix + key});
    return answer.found.empty() ? 0 : std::stoull(answer.found.front().value);
  };
  if (number_in("restored") <= number_in("accepted")) return;
  Fail(beat->leader + " takes over with epoch " + std::to_string(beat->epoch) +
       ", but a restore was noticed that nobody has accepted");
}

// After a restore, the beats that etcd then has count as known. A write of the leader in such a
// beat may still be on its way, and is no take-over.
void SimulatedFleet::ForgetTakeOvers() {
  for (auto& [key, epoch] : epochs_) {
    const auto answer = etcd_.Range({.key = key});
    epoch = 0;
    if (answer.found.empty()) continue;
    const auto beat = storage::replicated::DecodeBeat(answer.found.front().value);
    if (beat.ok()) epoch = beat->epoch;
  }
}

void SimulatedFleet::AddNode(int number) {
  nodes_.push_back({.number = number,
                    .name = "n" + std::to_string(number),
                    .boot_offset = random_.Between(1'000 * kSecond, 9'000 * kSecond),
                    .wall_offset = random_.Between(0, setting_.wall_skew)});
  Node& node = nodes_.back();
  node.machine = "m" + std::to_string(number % setting_.machines);
  if (!setting_.has_fixed_nodes || !random_.OneIn(3)) return;
  node.configured =
      static_cast<std::uint32_t>(random_.Below(static_cast<std::uint64_t>(setting_.partitions)));
}

// As `fairlockctl cluster create` does, perhaps after the first nodes have started.
void SimulatedFleet::CreateFleet() {
  network_.BeginExpiry();
  scheduler_.At(setting_.created_at, [this] {
    const auto partitions = static_cast<std::uint32_t>(setting_.partitions);
    etcd::Txn txn;
    txn.then.push_back(
        etcd::Put{.key = storage::replicated::FleetPrefix(kFleetName) + "fleet",
                  .value = storage::replicated::EncodeFleet({.partitions = partitions})});
    etcd_.Transact(txn);
  });
}

void SimulatedFleet::Fail(std::string text) {
  if (!report_.violation) report_.violation = {.text = std::move(text), .key = -1};
}

void SimulatedFleet::TellRequest(const Request& request, const std::string& text) {
  report_.hash = (report_.hash ^ std::hash<std::string>()(text)) * 0x100000001b3ULL +
                 static_cast<std::uint64_t>(scheduler_.now());
  if (text.starts_with("<-")) ++report_.replies;
  if (!has_history_) return;
  report_.history.push_back({scheduler_.now(), request.key,
                             "c" + std::to_string(request.owner) + " #" +
                                 std::to_string(request.number) + " " + TextOf(request) + "  " +
                                 text});
}

void SimulatedFleet::TellEvent(const std::string& text) {
  if (has_history_) report_.history.push_back({scheduler_.now(), -1, text});
}

void SimulatedFleet::Start(Node& node) {
  if (node.run || is_over_ || node.is_lost) return;
  node.run = std::make_shared<fleet::Run>(
      RunOptions{.node = node.name,
                 .number = ++runs_,
                 .partitions = setting_.partitions,
                 .machine = node.machine,
                 .partition = node.configured ? node.configured : node.remembered.partition,
                 .balance_after = setting_.balance_after,
                 .highest = node.remembered.highest,
                 .has_second_endpoint = setting_.has_second_endpoint,
                 .has_records = setting_.has_records,
                 .restart_grace_ms = setting_.restart_grace / kMs,
                 .keeps_lines = setting_.keeps_lines,
                 .boot_offset = node.boot_offset,
                 .wall_offset = [&node] { return node.wall_offset; },
                 .turn = setting_.turn},
      links_,
      RunHooks{
          .event = [this](const std::string& text) { TellEvent(text); },
          .taken_over =
              [this, &node] {
                node.taken_over_at = scheduler_.now();
                TroubleTakeOver(node);
              },
          .led =
              [this, &node](const ServedBy& by) {
                ++report_.leads;
                node.led_at = scheduler_.now();
                ledger_.Lead(by);
                TroubleLead();
              },
          .confirmed = [this](const ServedBy& by, TimeUs since) { ledger_.StandStill(by, since); },
          .told =
              [this, &node](const command::FleetReport& report, bool is_unsure) {
                reports_.See({report, is_unsure, std::max(node.continued_at, node.led_at)},
                             scheduler_.now());
              },
          .reaches =
              [this](const std::string& name) {
                return IsReachable(*std::ranges::find(nodes_, name, &Node::name));
              },
          .ranked =
              [this](const auto& view, const auto& own) {
                succession_.SeeRanked(view.nodes, own, scheduler_.now());
              },
          .hands_over = [this](const HandOver& hand_over) { succession_.SeeHandOver(hand_over); }});
  TellEvent(node.name + ": starts");
  fleet::Run& run = *node.run;
  succession_.Begin(node.name);
  assignments_.Begin(run.id(), !node.configured && !node.remembered.partition);
  run.Start([this, &node, &run](RunEnd end) { End(node, run, end); });
}

void SimulatedFleet::StartLater(Node& node, TimeUs delay) {
  scheduler_.After(delay, [this, &node] { Start(node); });
}

// The last fiber of the run calls this, so the run must be destroyed later.
void SimulatedFleet::End(Node& node, fleet::Run& run, RunEnd end) {
  std::erase_if(open_links_, [&](const OpenLink& open) { return open.run == &run; });
  TellEvent(node.name + ": has ended");
  CheckEnd(node, run, end);
  node.taken_over_at = 0;
  node.remembered = {};
  const bool starts_again = end == RunEnd::kDeposed || end == RunEnd::kBalances;
  if (setting_.has_records && starts_again) {
    node.remembered = {.partition = run.partition(), .highest = run.highest()};
  }
  scheduler_.After(1, [run = std::exchange(node.run, nullptr)] {});
  if (is_over_) return;
  if (starts_again) return StartLater(node, random_.Between(5 * kMs, 50 * kMs));
  // In a larger fleet, the lease of its record may run out before it starts again.
  const bool is_long = setting_.has_records && random_.OneIn(4);
  StartLater(node, random_.Between(50 * kMs, is_long ? 9 * kSecond : 2 * kSecond));
}

// No node may fail, and only another leader may depose a leader. But a node may end when etcd was
// restored.
void SimulatedFleet::CheckEnd(const Node& node, const fleet::Run& run, RunEnd end) {
  if (setting_.restores_backup) return;
  if (end == RunEnd::kFailed) Fail(node.name + " failed: " + run.error());
  if (end != RunEnd::kDeposed || run.is_stop_asked() || run.epoch() == 0) return;
  const std::string partition = storage::replicated::PartitionPrefix(
      storage::replicated::FleetPrefix(kFleetName), run.partition().value());
  const etcd::RangeAnswer answer = etcd_.Range({.key = partition + "beat"});
  const auto beat = storage::replicated::DecodeBeat(answer.found.front().value);
  if (beat.ok() && beat->epoch == run.epoch() && beat->leader == node.name) {
    Fail(node.name + " gave way, but no other node has taken over");
  }
}

std::shared_ptr<Link> SimulatedFleet::Connect(int number) {
  Node& node = nodes_[static_cast<std::size_t>(number)];
  if (!node.run || !node.run->accepts() || !IsReachable(node)) return nullptr;
  auto link = std::make_shared<Link>();
  node.run->Accept(link);
  open_links_.push_back({link, &node, node.run.get(), scheduler_.now()});
  return link;
}

bool SimulatedFleet::IsSilent(const Link& link) const {
  for (const OpenLink& open : open_links_) {
    if (open.link.lock().get() == &link) return open.run->process().is_paused;
  }
  return true;
}

// A leader that has been unsure for a few seconds keeps no client: its clients ask elsewhere. One
// that stops waits for etcd first, for a limited time.
void SimulatedFleet::CheckClients() {
  constexpr TimeUs kPatience = 4 * kSecond;  // 3 s, and the time until the next turn
  for (const OpenLink& open : open_links_) {
    const auto link = open.link.lock();
    const Process& process = open.run->process();
    if (!link || !link->on_input || process.is_paused || process.is_dead) continue;
    const auto unsure_since = open.run->unconfirmed_since();
    if (!unsure_since || open.run->is_stop_asked()) continue;
    const TimeUs since = std::max({*unsure_since, open.since, open.node->continued_at});
    if (scheduler_.now() < since + kPatience) continue;
    Fail(open.node->name + " still has a client, although it has been unsure for " +
         std::to_string((scheduler_.now() - *unsure_since) / kMs) + " ms");
  }
  scheduler_.After(500 * kMs, [this] { CheckClients(); });
}

void SimulatedFleet::StartClients() {
  for (int owner = 0; owner < setting_.clients; ++owner) {
    clients_.push_back(
        std::make_unique<Client>(ClientOptions{.owner = owner,
                                               .owners = setting_.clients,
                                               .keys = setting_.keys,
                                               .nodes = static_cast<int>(nodes_.size()),
                                               .partitions = setting_.partitions,
                                               .lease = random_.Between(1'500 * kMs, 8 * kSecond),
                                               .think = setting_.think,
                                               .notifies = setting_.listeners > 0},
                                 world_, random_.Next()));
    clients_.back()->Begin();
  }
  for (int number = 0; number < setting_.listeners; ++number) {
    listeners_.push_back(std::make_unique<Listener>(world_, setting_.nodes, random_.Next()));
    listeners_.back()->Begin();
  }
}

bool SimulatedFleet::Leads(const std::string& name, std::uint32_t partition) const {
  const auto node = std::ranges::find(nodes_, name, &Node::name);
  return node != nodes_.end() && node->run && node->run->leads() &&
         node->run->partition() == partition;
}

bool SimulatedFleet::Balances(const std::string& name) const {
  const auto node = std::ranges::find(nodes_, name, &Node::name);
  return node != nodes_.end() && node->run && node->run->balances();
}

bool SimulatedFleet::IsLed() const {
  for (std::uint32_t partition = 0; partition < static_cast<std::uint32_t>(setting_.partitions);
       ++partition) {
    if (!IsLed(partition)) return false;
  }
  return true;
}

// A partition that no node serves counts as led.
bool SimulatedFleet::IsLed(std::uint32_t partition) const {
  const auto serves = [&](const Node& node) {
    return node.run && node.run->partition() == partition;
  };
  const auto leads = [&](const Node& node) { return serves(node) && node.run->is_ready(); };
  const bool has_any = setting_.partitions == 1 || std::ranges::any_of(nodes_, serves);
  return !has_any || std::ranges::any_of(nodes_, leads);
}

bool SimulatedFleet::AllServe() const {
  return std::ranges::all_of(
      nodes_, [](const Node& node) { return node.is_lost || (node.run && node.run->partition()); });
}

void SimulatedFleet::CheckRecovery() {
  // A leader may be handing over at this moment, or start again because it has done so.
  const TimeUs until = scheduler_.now() + (setting_.balance_after > 0 ? kHandOverAndStartMax : 0);
  scheduler_.RunUntil(until, [this] { return IsDecided() || (IsLed() && AllServe()); });
  for (std::uint32_t partition = 0; partition < static_cast<std::uint32_t>(setting_.partitions);
       ++partition) {
    if (IsLed(partition)) continue;
    Fail("no node leads partition " + std::to_string(partition) + " " +
         std::to_string((scheduler_.now() - kTrouble) / kSecond) +
         " seconds after everything was repaired");
  }
  if (setting_.has_records) CheckAssignments();
}

void SimulatedFleet::CheckAssignments() {
  for (const Node& node : nodes_) {
    if (node.is_lost) {
      assignments_.SeeGone(node.name);
    } else if (!node.run || !node.run->partition()) {
      Fail(node.name + " serves no partition");
    } else {
      assignments_.SeeRunning(node.name, *node.run->partition());
    }
  }
  if (assignments_.violation()) Fail(*assignments_.violation());
}

bool SimulatedFleet::IsDecided() const {
  return ledger_.violation() != nullptr || assignments_.violation() || balance_.violation() ||
         reports_.violation() || succession_.violation() || log_.violation() ||
         report_.violation.has_value();
}

FleetReport SimulatedFleet::Run() {
  for (Node& node : nodes_) {
    const bool is_late = node.number >= setting_.nodes;
    StartLater(node, is_late ? random_.Between(kSecond, kTrouble) : random_.Between(1, 100 * kMs));
  }
  StartClients();
  scheduler_.After(random_.Between(kMs, 3 * kSecond), [this] { MakeTrouble(); });
  if (setting_.wall_skew > 0) SetClock();
  TroubleEtcd();
  CheckClients();
  if (setting_.restores_backup) {
    const TimeUs backup_at = random_.Between(2 * kSecond, 12 * kSecond);
    scheduler_.At(backup_at, [this] { etcd_.Backup(); });
    // If only a few frames are lost, the new log soon has as many as a standby has read of the old.
    const TimeUs lost_time = random_.OneIn(2) ? 300 * kMs : 6 * kSecond;
    scheduler_.At(backup_at + random_.Between(kMs, lost_time), [this] { RestoreBackup(); });
  }
  const auto is_decided = [this] { return IsDecided(); };
  scheduler_.RunUntil(kTrouble, is_decided);
  if (!IsDecided()) Heal();
  scheduler_.RunUntil(kTrouble + kRecovery, is_decided);
  if (!IsDecided()) CheckRecovery();
  if (setting_.balance_after > 0 && !IsDecided()) {
    scheduler_.RunUntil(scheduler_.now() + kBalances * setting_.balance_after, is_decided);
    if (!IsDecided()) CheckRecovery();
    balance_.Finish(scheduler_.now());
  }
  if (ledger_.violation() != nullptr) report_.violation = *ledger_.violation();
  if (assignments_.violation()) Fail(*assignments_.violation());
  if (balance_.violation()) Fail(*balance_.violation());
  if (reports_.violation()) Fail(*reports_.violation());
  if (succession_.violation()) Fail(*succession_.violation());
  if (log_.violation()) Fail(*log_.violation());
  report_.hand_overs = balance_.hand_overs();
  is_over_ = true;
  for (Node& node : nodes_) {
    if (node.run) scheduler_.Kill(node.run->process());
  }
  scheduler_.RunUntil(scheduler_.now() + kMs, [] { return false; });
  for (Node& node : nodes_) assert(!node.run);
  nodes_.clear();
  return std::move(report_);
}

FleetReport RunFleet(const Setting& setting, bool has_history) {
  return SimulatedFleet(setting, has_history).Run();
}

}  // namespace fairlock::fleet
