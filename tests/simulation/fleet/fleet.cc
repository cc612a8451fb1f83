#include "tests/simulation/fleet/fleet.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "tests/simulation/fleet/seams.h"

namespace fairlock::fleet {

namespace {

constexpr TimeUs kTrouble = 20 * kSecond;   // how long faults occur
constexpr TimeUs kRecovery = 15 * kSecond;  // within this time after the faults, a node must lead
constexpr const char* kBeatKey = "/fairlock/sim/p/00/beat";

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
    std::shared_ptr<fleet::Run> run = nullptr;  // null: the process is not running
    TimeUs taken_over_at = 0;                   // when this run took over; 0: it is a standby
  };

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
  void TroubleTakeOver(Node& node);
  void Pause(Node& node, TimeUs duration);
  void Kill(Node& node);
  void Compact();
  void RestoreBackup();
  void AcceptRestore();
  void Heal();
  void CheckRecovery();
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
  std::vector<Node> nodes_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::pair<std::weak_ptr<Link>, fleet::Run*>> open_links_;
  FleetReport report_;
  std::uint64_t requests_ = 0;
  int runs_ = 0;
  TimeUs compacted_at_ = 0;  // when history was last discarded, but not by a leader
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
                            const std::string& text) { TellRequest(request, text); }} {
  RandomDevice::next = 0;
  StoreSizes::frame_bytes_max = setting.frame_bytes_max;
  StoreSizes::compact_every = setting.compact_every;
  StoreSizes::batch_bytes_max = setting.batch_bytes_max;
  StoreSizes::kept_bytes_max = setting.kept_bytes_max;
  network_.set_faults(setting.network);
  for (int number = 0; number < setting.nodes; ++number) {
    nodes_.push_back({.number = number,
                      .name = "n" + std::to_string(number),
                      .boot_offset = random_.Between(1'000 * kSecond, 9'000 * kSecond),
                      .wall_offset = random_.Between(0, setting.wall_skew)});
  }
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
  if (node.run || is_over_) return;
  node.run = std::make_shared<fleet::Run>(
      RunOptions{.node = node.name,
                 .number = ++runs_,
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
  scheduler_.After(1, [run = std::exchange(node.run, nullptr)] {});
  if (is_over_) return;
  StartLater(node, end == RunEnd::kDeposed ? random_.Between(5 * kMs, 50 * kMs)
                                           : random_.Between(50 * kMs, 2 * kSecond));
}

// No node may fail, and only another leader may depose a leader. But a node may end when etcd was
// restored or its history was discarded.
void Fleet::CheckEnd(const Node& node, const fleet::Run& run, RunEnd end) {
  if (report_.violation || setting_.restores_backup) return;
  if (end == RunEnd::kFailed) {
    report_.violation = {.text = node.name + " failed: " + run.error(), .key = -1};
  }
  if (end != RunEnd::kDeposed || run.is_stop_asked() || run.epoch() == 0) return;
  // A node may find out late that it has taken over.
  if (compacted_at_ != 0 && compacted_at_ + 10 * kSecond >= node.taken_over_at) return;
  const etcd::RangeAnswer answer = etcd_.Range({.key = kBeatKey});
  const auto beat = storage::replicated::DecodeBeat(answer.found.front().value);
  if (beat.ok() && beat->epoch == run.epoch() && beat->leader == node.name) {
    report_.violation = {.text = node.name + " gave way, but no other node has taken over",
                         .key = -1};
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
                                               .nodes = setting_.nodes,
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
  if (prefers_leader) {
    for (Node& node : nodes_) {
      if (node.run && node.run->leads()) return node;
    }
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
  const TimeUs now = scheduler_.now();
  Node& node = AnyNode(!random_.OneIn(3));
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
  scheduler_.After(random_.Between(kMs, 2 * setting_.trouble_every), [this] { MakeTrouble(); });
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
  compacted_at_ = scheduler_.now();
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
  for (Node& node : nodes_) {
    if (node.run) scheduler_.Continue(node.run->process());
    network_.CutOff(node.name, 0);
  }
}

void Fleet::CheckRecovery() {
  const bool does_any = std::ranges::any_of(
      nodes_, [](const Node& node) { return node.run && node.run->is_ready(); });
  if (!does_any && !report_.violation) {
    report_.violation = {.text = "no node leads " + std::to_string(kRecovery / kSecond) +
                                 " seconds after everything was repaired",
                         .key = -1};
  }
}

FleetReport Fleet::Run() {
  for (Node& node : nodes_) StartLater(node, random_.Between(1, 100 * kMs));
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
    return ledger_.violation() != nullptr || report_.violation.has_value();
  };
  scheduler_.RunUntil(kTrouble, is_decided);
  if (!is_decided()) Heal();
  scheduler_.RunUntil(kTrouble + kRecovery, is_decided);
  if (ledger_.violation() != nullptr) report_.violation = *ledger_.violation();
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

Setting MakeSetting(std::uint64_t seed) {
  simulation::Random random(seed);
  const auto some = [&](std::uint64_t often) {
    return random.OneIn(2) ? std::uint64_t{0} : often + random.Below(often * 4);
  };
  Setting setting;
  setting.seed = seed;
  setting.clients = static_cast<int>(random.Between(2, 5));
  setting.keys = static_cast<int>(random.Between(1, 2));
  setting.think = random.Between(20 * kMs, 600 * kMs);
  setting.restart_grace = random.Between(3 * kSecond, 15 * kSecond);
  setting.turn = random.Between(50, 3 * kMs);
  setting.wall_skew = random.OneIn(2) ? 0 : random.Between(kSecond, 100 * kSecond);
  setting.keeps_lines = !random.OneIn(5);
  setting.etcd_revision = random.OneIn(2) ? 1 : random.Between(1, 60'000);
  setting.compact_every = random.OneIn(2) ? 20'000 : random.Between(5, 200);
  setting.frame_bytes_max =
      static_cast<std::size_t>(random.OneIn(2) ? 1 << 20 : random.Between(60, 400));
  setting.restores_backup = random.OneIn(4);
  if (setting.restores_backup) setting.wall_skew = 0;
  setting.trouble_every = random.Between(400 * kMs, 5 * kSecond);
  setting.network = {.lost_request = some(20),
                     .lost_answer = some(15),
                     .repeated = some(15),
                     .refused = some(30),
                     .slow = some(10),
                     .very_slow = some(40),
                     .cut_stream = some(20)};
  setting.restore_spares_standbys = !random.OneIn(3);
  setting.listeners = static_cast<int>(random.Between(0, 2));
  setting.batch_bytes_max = static_cast<std::uint64_t>(random.Between(200, 4 << 10));
  setting.kept_bytes_max =
      static_cast<std::size_t>(random.OneIn(2) ? 64 << 20 : random.Between(0, 400));
  return setting;
}

std::string TextOf(const Setting& setting) {
  return "seed " + std::to_string(setting.seed) + ": " + std::to_string(setting.nodes) +
         " nodes, " + std::to_string(setting.clients) + " clients, " +
         std::to_string(setting.keys) + " keys, restart_grace " +
         std::to_string(setting.restart_grace / kMs) + " ms, cluster_keep_lines " +
         (setting.keeps_lines ? "yes" : "no") + ", etcd's first revision " +
         std::to_string(setting.etcd_revision);
}

FleetReport RunFleet(const Setting& setting, bool has_history) {
  return Fleet(setting, has_history).Run();
}

}  // namespace fairlock::fleet
