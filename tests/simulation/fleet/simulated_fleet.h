// One simulated fleet, from its start to the verdict of its judges.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/fleet/assignment_judge.h"
#include "tests/simulation/fleet/balance_judge.h"
#include "tests/simulation/fleet/client.h"
#include "tests/simulation/fleet/etcd_network.h"
#include "tests/simulation/fleet/fleet.h"
#include "tests/simulation/fleet/fleet_node.h"
#include "tests/simulation/fleet/ledger.h"
#include "tests/simulation/fleet/listener.h"
#include "tests/simulation/fleet/log_judge.h"
#include "tests/simulation/fleet/report_judge.h"
#include "tests/simulation/fleet/run.h"
#include "tests/simulation/fleet/succession_judge.h"
#include "tests/simulation/random.h"

namespace fairlock::fleet {

class SimulatedFleet {
 public:
  SimulatedFleet(const Setting& setting, bool has_history);
  FleetReport Run();

 private:
  void CreateFleet();
  void Hear(const etcd::WatchEvent& event);
  void CheckTakeOver(const etcd::KeyValue& written);
  void ForgetTakeOvers();
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
  void SlowDown();
  void Lose(Node& node);
  void TroubleTakeOver(Node& node);
  void TroubleLead();
  void TroubleHandOver(const std::string& claim);
  void Pause(Node& node, TimeUs duration);
  void Kill(Node& node);
  void Stop(Node& node);
  void CutOff(Node& node, TimeUs duration);
  void SetClock();
  void TroubleEtcd();
  void Compact();
  void RestoreBackup();
  void AcceptRestore();
  void Heal();
  bool IsDecided() const;
  bool IsLed() const;
  bool IsLed(std::uint32_t partition) const;
  bool AllServe() const;
  bool Leads(const std::string& name, std::uint32_t partition) const;
  bool Balances(const std::string& name) const;
  bool IsReachable(const Node& node) const { return node.number != setting_.unreachable; }
  void CheckClients();
  void CheckRecovery();
  void CheckAssignments();
  void Fail(std::string text);
  Node& AnyNode(bool prefers_leader, simulation::Random& random);

  const Setting setting_;
  const bool has_history_;
  simulation::Random random_;
  simulation::Random clock_random_;  // only for the machines' wall clocks
  simulation::Random etcd_random_;   // only for TroubleEtcd
  Scheduler scheduler_;
  EtcdModel etcd_;
  EtcdNetwork network_;
  LinkNetwork links_;
  Ledger ledger_;
  ClientWorld world_;
  AssignmentJudge assignments_;
  BalanceJudge balance_;
  ReportJudge reports_;
  SuccessionJudge succession_;
  LogJudge log_;
  std::deque<Node> nodes_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  struct OpenLink {
    std::weak_ptr<Link> link;
    Node* node = nullptr;
    fleet::Run* run = nullptr;
    TimeUs since = 0;
  };
  std::vector<OpenLink> open_links_;
  std::map<std::string, std::uint64_t> epochs_;  // the epochs by the keys of the beats
  FleetReport report_;
  std::uint64_t requests_ = 0;
  int runs_ = 0;
  int lost_nodes_ = 0;
  bool is_healed_ = false;
  bool is_over_ = false;
};

}  // namespace fairlock::fleet
