#include "tests/simulation/fleet/fleet.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

#include "storage/replicated/fleet_record.h"
#include "tests/simulation/fleet/assignment_judge.h"
#include "tests/simulation/fleet/seams.h"

namespace fairlock::fleet {

namespace {

constexpr TimeUs kTrouble = 20 * kSecond;   // how long faults occur
constexpr TimeUs kRecovery = 15 * kSecond;  // within this time after the faults, a node must lead

class Fleet {
 public:
  Fleet(const Setting& setting, bool has_history);
  FleetReport Run();

 private:
  struct Node {
    int number = 0;
    std::string name;
    TimeUs boot_offset = 0;
    TimeUs wall_offset = 0;
    std::string machine = {};
    std::optional<std::uint32_t> configured = {};  // the partition in its configuration; none: any
    // What a deposed process remembers when it executes itself again.
    struct {
      std::optional<std::uint32_t> partition = {};
      storage::replicated::Beat highest = {};
    } remembered = {};
    bool is_lost = false;                       // the machine does not come back
    std::shared_ptr<fleet::Run> run = nullptr;  // null: the process is not running
    TimeUs taken_over_at = 0;                   // when this run took over; 0: it is a standby
  };

  void CreateFleet();
  void AddNode(int number);
  void StartClients();
  void Start(Node& node);
  void StartLater(Node& node, TimeUs delay);
  void End(Node& node, fleet::Run& run, RunEnd end);
  void CheckEnd(const Node& node, const fleet::Run& run, RunEnd end);
  std::shared_ptr<Link> Connect(int node);
  bool IsSilent(const Link& link) const;
  void TellRequest(const Request& request, const std::string& text);
  void TellEvent(const std::string& text);

  void MakeTrouble();
  void StrikeNode(Node& node);
  void StrikeMembership(Node& node);
  void Lose(Node& node);
  void TroubleTakeOver(Node& node);
  void Pause(Node& node, TimeUs duration);
  void Kill(Node& node);
  void Compact();
  void RestoreBackup();
  void AcceptRestore();
  void Heal();
  void CheckRecovery();
  void CheckAssignments();
  void Fail(std::string text);
  Node& AnyNode(bool prefers_leader);

  const Setting setting_;
  const bool has_history_;
  simulation::Random random_;
  Scheduler scheduler_;
  EtcdModel etcd_;
  EtcdNetwork network_;
  LinkNetwork links_;
  Ledger ledger_;
  ClientWorld world_;
  AssignmentJudge assignments_;
  std::deque<Node> nodes_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::pair<std::weak_ptr<Link>, fleet::Run*>> open_links_;
  FleetReport report_;
  std::uint64_t requests_ = 0;
  int runs_ = 0;
  int lost_nodes_ = 0;
  bool is_healed_ = false;
  bool is_over_ = false;
};

Fleet::Fleet(const Setting& setting, bool has_history)
    : setting_(setting),
      has_history_(has_history),
      random_(setting.seed * 7919 + 1),
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
                   static_cast<std::uint32_t>(setting.partitions)) {
  RandomDevice::next = 0;
  StoreSizes::frame_bytes_max = setting.frame_bytes_max;
  StoreSizes::compact_every = setting.compact_every;
  StoreSizes::batch_bytes_max = setting.batch_bytes_max;
  StoreSizes::kept_bytes_max = setting.kept_bytes_max;
  network_.set_faults(setting.network);
  for (int number = 0; number < setting.nodes + setting.late_nodes; ++number) AddNode(number);
  if (setting.partitions > 1) CreateFleet();
}

void Fleet::AddNode(int number) {
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
void Fleet::CreateFleet() {
  etcd_.Report([this](const etcd::WatchEvent& event) { assignments_.Hear(event); });
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

void Fleet::Fail(std::string text) {
  if (!report_.violation) report_.violation = {.text = std::move(text), .key = -1};
}

void Fleet::TellRequest(const Request& request, const std::string& text) {
  report_.hash = (report_.hash ^ std::hash<std::string>()(text)) * 0x100000001b3ULL +
                 static_cast<std::uint64_t>(scheduler_.now());
  if (text.starts_with("<-")) ++report_.replies;
  if (!has_history_) return;
  report_.history.push_back({scheduler_.now(), request.key,
                             "c" + std::to_string(request.owner) + " #" +
                                 std::to_string(request.number) + " " + TextOf(request) + "  " +
                                 text});
}

void Fleet::TellEvent(const std::string& text) {
  if (has_history_) report_.history.push_back({scheduler_.now(), -1, text});
}

void Fleet::Start(Node& node) {
  if (node.run || is_over_ || node.is_lost) return;
  node.run = std::make_shared<fleet::Run>(
      RunOptions{.node = node.name,
                 .number = ++runs_,
                 .partitions = setting_.partitions,
                 .machine = node.machine,
                 .partition = node.configured ? node.configured : node.remembered.partition,
                 .highest = node.remembered.highest,
                 .restart_grace_ms = setting_.restart_grace / kMs,
                 .keeps_lines = setting_.keeps_lines,
                 .boot_offset = node.boot_offset,
                 .wall_offset = node.wall_offset,
                 .turn = setting_.turn},
      links_,
      RunHooks{.event = [this](const std::string& text) { TellEvent(text); },
               .taken_over =
                   [this, &node] {
                     node.taken_over_at = scheduler_.now();
                     TroubleTakeOver(node);
                   },
               .led =
                   [this](const ServedBy& by) {
                     ++report_.leads;
                     ledger_.Lead(by);
                   }});
  TellEvent(node.name + ": starts");
  fleet::Run& run = *node.run;
  assignments_.Begin(run.id(), !node.configured && !node.remembered.partition);
  run.Start([this, &node, &run](RunEnd end) { End(node, run, end); });
}

void Fleet::StartLater(Node& node, TimeUs delay) {
  scheduler_.After(delay, [this, &node] { Start(node); });
}

// The last fiber of the run calls this, so the run must be destroyed later.
void Fleet::End(Node& node, fleet::Run& run, RunEnd end) {
  std::erase_if(open_links_, [&](const auto& open) { return open.second == &run; });
  TellEvent(node.name + ": has ended");
  CheckEnd(node, run, end);
  node.taken_over_at = 0;
  node.remembered = {};
  if (setting_.partitions > 1 && end == RunEnd::kDeposed) {
    node.remembered = {.partition = run.partition(), .highest = run.highest()};
  }
  scheduler_.After(1, [run = std::exchange(node.run, nullptr)] {});
  if (is_over_) return;
  if (end == RunEnd::kDeposed) return StartLater(node, random_.Between(5 * kMs, 50 * kMs));
  // In a larger fleet, the lease of its record may run out before it starts again.
  const bool is_long = setting_.partitions > 1 && random_.OneIn(4);
  StartLater(node, random_.Between(50 * kMs, is_long ? 9 * kSecond : 2 * kSecond));
}

// No node may fail, and only another leader may depose a leader. But a node may end when etcd was
// restored.
void Fleet::CheckEnd(const Node& node, const fleet::Run& run, RunEnd end) {
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

std::shared_ptr<Link> Fleet::Connect(int number) {
  Node& node = nodes_[static_cast<std::size_t>(number)];
  if (!node.run || !node.run->accepts()) return nullptr;
  auto link = std::make_shared<Link>();
  node.run->Accept(link);
  open_links_.emplace_back(link, node.run.get());
  return link;
}

bool Fleet::IsSilent(const Link& link) const {
  for (const auto& [open, run] : open_links_) {
    if (open.lock().get() == &link) return run->process().is_paused;
  }
  return true;
}

void Fleet::StartClients() {
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

Fleet::Node& Fleet::AnyNode(bool prefers_leader) {
  std::vector<Node*> leaders;
  for (Node& node : nodes_) {
    if (node.run && node.run->leads()) leaders.push_back(&node);
  }
  if (prefers_leader && !leaders.empty()) {
    return *leaders[setting_.partitions == 1 ? 0 : random_.Below(leaders.size())];
  }
  return nodes_[random_.Below(nodes_.size())];
}

void Fleet::Pause(Node& node, TimeUs duration) {
  if (!node.run || node.run->process().is_paused) return;
  TellEvent(node.name + ": is paused");
  scheduler_.Pause(node.run->process());
  scheduler_.After(duration, [this, &node, number = node.run->number()] {
    if (!node.run || node.run->number() != number) return;
    TellEvent(node.name + ": continues");
    scheduler_.Continue(node.run->process());
  });
}

void Fleet::Kill(Node& node) {
  if (!node.run || node.run->process().is_dead) return;
  TellEvent(node.name + ": is killed");
  scheduler_.Kill(node.run->process());
}

void Fleet::MakeTrouble() {
  if (is_healed_) return;
  Node& node = AnyNode(!random_.OneIn(3));
  if (setting_.partitions > 1 && random_.OneIn(3)) {
    StrikeMembership(node);
  } else {
    StrikeNode(node);
  }
  scheduler_.After(random_.Between(kMs, 2 * setting_.trouble_every), [this] { MakeTrouble(); });
}

// Strikes the leases and the records of nodes.
void Fleet::StrikeMembership(Node& node) {
  switch (random_.Below(4)) {
    case 0:
      Pause(node, random_.Between(5 * kSecond, 10 * kSecond));
      break;
    case 1:
      Lose(node);
      break;
    case 2:
      TellEvent("etcd is slow");
      network_.SlowDownUntil(scheduler_.now() + random_.Between(kSecond, 6 * kSecond));
      break;
    default:
      // Several nodes then choose their partitions at about the same time.
      for (Node& one : nodes_) {
        if (random_.OneIn(2)) Kill(one);
      }
      break;
  }
}

void Fleet::Lose(Node& node) {
  if (!node.run || lost_nodes_ == setting_.lost_nodes_max) return;
  ++lost_nodes_;
  node.is_lost = true;
  TellEvent(node.name + ": its machine is lost");
  Kill(node);
}

void Fleet::StrikeNode(Node& node) {
  const TimeUs now = scheduler_.now();
  switch (random_.Below(10)) {
    case 0:
    case 1:
    case 2:
      Pause(node, random_.OneIn(3) ? random_.Between(10 * kMs, 900 * kMs)
                                   : random_.Between(900 * kMs, 6 * kSecond));
      break;
    case 3:
    case 4:
      Kill(node);
      break;
    case 5:
      if (node.run) {
        TellEvent(node.name + ": is asked to stop");
        node.run->Stop();
      }
      break;
    case 6:
      TellEvent("etcd is down");
      network_.StopEtcdUntil(now + random_.Between(100 * kMs, 4 * kSecond));
      break;
    case 7:
    case 8:
      if (!node.run) break;
      TellEvent(node.name + ": is cut off from etcd");
      network_.CutOff(node.name, now + random_.Between(300 * kMs, 6 * kSecond));
      break;
    default:
      Compact();
      break;
  }
}

// Strikes while the node reads the log, which takes a few milliseconds.
void Fleet::TroubleTakeOver(Node& node) {
  if (is_healed_ || !random_.OneIn(4)) return;
  scheduler_.After(random_.Between(0, 20 * kMs), [this, &node] {
    if (!is_healed_) Pause(node, random_.Between(200 * kMs, 6 * kSecond));
  });
}

void Fleet::Compact() {
  TellEvent("someone compacts etcd's history");
  etcd_.Compact(etcd_.revision());
}

// docs/HIGH_AVAILABILITY.md asks operators to stop all nodes first, or to leave all of them
// running. Nodes that keep running do no harm, but those that have seen the lost state need the
// operator.
void Fleet::RestoreBackup() {
  for (Node& node : nodes_) {
    if (!setting_.restore_spares_standbys || node.taken_over_at != 0) Kill(node);
  }
  TellEvent("etcd is restored from a backup");
  etcd_.Restore();
  const std::string prefix = storage::replicated::FleetPrefix(kFleetName) + "n/";
  assignments_.Restore(etcd_.Range({.key = prefix, .range_end = etcd::EndOfPrefix(prefix)}).found);
  network_.EndStreams();
  ledger_.ForgetAll();
  AcceptRestore();
}

void Fleet::AcceptRestore() {
  scheduler_.After(random_.Between(100 * kMs, 3 * kSecond), [this] {
    if (is_over_) return;
    for (Node& node : nodes_) {
      if (node.run) node.run->AcceptRestore();
    }
    AcceptRestore();
  });
}

void Fleet::Heal() {
  is_healed_ = true;
  TellEvent("everything is repaired");
  network_.set_faults({});
  network_.StopEtcdUntil(0);
  network_.SlowDownUntil(0);
  for (Node& node : nodes_) {
    if (node.run) scheduler_.Continue(node.run->process());
    network_.CutOff(node.name, 0);
  }
}

void Fleet::CheckRecovery() {
  const std::string when =
      " " + std::to_string(kRecovery / kSecond) + " seconds after everything was repaired";
  for (std::uint32_t partition = 0; partition < static_cast<std::uint32_t>(setting_.partitions);
       ++partition) {
    const auto serves = [&](const Node& node) {
      return node.run && node.run->partition() == partition;
    };
    const auto leads = [&](const Node& node) { return serves(node) && node.run->is_ready(); };
    const bool has_any = setting_.partitions == 1 || std::ranges::any_of(nodes_, serves);
    if (has_any && std::ranges::none_of(nodes_, leads)) {
      Fail("no node leads partition " + std::to_string(partition) + when);
    }
  }
  if (setting_.partitions > 1) CheckAssignments();
}

void Fleet::CheckAssignments() {
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

FleetReport Fleet::Run() {
  for (Node& node : nodes_) {
    const bool is_late = node.number >= setting_.nodes;
    StartLater(node, is_late ? random_.Between(kSecond, kTrouble) : random_.Between(1, 100 * kMs));
  }
  StartClients();
  scheduler_.After(random_.Between(kMs, 3 * kSecond), [this] { MakeTrouble(); });
  if (setting_.restores_backup) {
    const TimeUs backup_at = random_.Between(2 * kSecond, 12 * kSecond);
    scheduler_.At(backup_at, [this] { etcd_.Backup(); });
    // If only a few frames are lost, the new log soon has as many as a standby has read of the old.
    const TimeUs lost_time = random_.OneIn(2) ? 300 * kMs : 6 * kSecond;
    scheduler_.At(backup_at + random_.Between(kMs, lost_time), [this] { RestoreBackup(); });
  }
  const auto is_decided = [this] {
    return ledger_.violation() != nullptr || assignments_.violation() ||
           report_.violation.has_value();
  };
  scheduler_.RunUntil(kTrouble, is_decided);
  if (!is_decided()) Heal();
  scheduler_.RunUntil(kTrouble + kRecovery, is_decided);
  if (ledger_.violation() != nullptr) report_.violation = *ledger_.violation();
  if (assignments_.violation()) Fail(*assignments_.violation());
  if (!report_.violation) CheckRecovery();
  is_over_ = true;
  for (Node& node : nodes_) {
    if (node.run) scheduler_.Kill(node.run->process());
  }
  scheduler_.RunUntil(scheduler_.now() + kMs, [] { return false; });
  for (Node& node : nodes_) assert(!node.run);
  nodes_.clear();
  return std::move(report_);
}

}  // namespace

FleetReport RunFleet(const Setting& setting, bool has_history) {
  return Fleet(setting, has_history).Run();
}

}  // namespace fairlock::fleet
