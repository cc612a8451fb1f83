// The faults that strike a simulated fleet.
#include <algorithm>
#include <cstddef>

#include "storage/replicated/fleet_record.h"
#include "tests/simulation/fleet/seams.h"
#include "tests/simulation/fleet/simulated_fleet.h"

namespace fairlock::fleet {

Node& SimulatedFleet::AnyNode(bool prefers_leader, simulation::Random& random) {
  std::vector<Node*> leaders;
  for (Node& node : nodes_) {
    if (node.run && node.run->leads()) leaders.push_back(&node);
  }
  if (prefers_leader && !leaders.empty()) {
    return *leaders[setting_.partitions == 1 ? 0 : random.Below(leaders.size())];
  }
  return nodes_[random.Below(nodes_.size())];
}

void SimulatedFleet::Pause(Node& node, TimeUs duration) {
  if (!node.run || node.run->process().is_paused) return;
  TellEvent(node.name + ": is paused");
  scheduler_.Pause(node.run->process());
  scheduler_.After(duration, [this, &node, number = node.run->number()] {
    if (!node.run || node.run->number() != number) return;
    TellEvent(node.name + ": continues");
    node.continued_at = scheduler_.now();
    scheduler_.Continue(node.run->process());
  });
}

void SimulatedFleet::Kill(Node& node) {
  if (!node.run || node.run->process().is_dead) return;
  TellEvent(node.name + ": is killed");
  scheduler_.Kill(node.run->process());
}

void SimulatedFleet::MakeTrouble() {
  if (is_healed_) return;
  Node& node = AnyNode(!random_.OneIn(3), random_);
  if (setting_.has_only_slow_etcd) {
    SlowDown();
  } else if (setting_.has_records && random_.OneIn(3)) {
    StrikeMembership(node);
  } else {
    StrikeNode(node);
  }
  scheduler_.After(random_.Between(kMs, 2 * setting_.trouble_every), [this] { MakeTrouble(); });
}

// Strikes the leases and the records of nodes.
void SimulatedFleet::StrikeMembership(Node& node) {
  switch (random_.Below(4)) {
    case 0:
      Pause(node, random_.Between(5 * kSecond, 10 * kSecond));
      break;
    case 1:
      Lose(node);
      break;
    case 2:
      SlowDown();
      break;
    default:
      // Several nodes then choose their partitions at about the same time.
      for (Node& one : nodes_) {
        if (random_.OneIn(2)) Kill(one);
      }
      break;
  }
}

void SimulatedFleet::SlowDown() {
  TellEvent("etcd is slow");
  network_.SlowDownUntil(scheduler_.now() + random_.Between(kSecond, 6 * kSecond));
}

void SimulatedFleet::Lose(Node& node) {
  if (!node.run || lost_nodes_ == setting_.lost_nodes_max) return;
  ++lost_nodes_;
  node.is_lost = true;
  TellEvent(node.name + ": its machine is lost");
  Kill(node);
}

void SimulatedFleet::StrikeNode(Node& node) {
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
      Stop(node);
      break;
    case 6:
      TellEvent("etcd is down");
      network_.StopEtcdUntil(now + random_.Between(100 * kMs, 4 * kSecond));
      break;
    case 7:
    case 8:
      if (node.run) CutOff(node, random_.Between(300 * kMs, 6 * kSecond));
      break;
    default:
      Compact();
      break;
  }
}

void SimulatedFleet::Stop(Node& node) {
  if (!node.run) return;
  TellEvent(node.name + ": is asked to stop");
  node.run->Stop();
}

void SimulatedFleet::CutOff(Node& node, TimeUs duration) {
  TellEvent(node.name + ": is cut off from etcd");
  network_.CutOff(node.name, scheduler_.now() + duration);
}

// Strikes when a node has loaded the locks, before etcd has confirmed a write of it.
void SimulatedFleet::TroubleLead() {
  if (is_healed_ || !setting_.fails_at_take_overs || etcd_random_.OneIn(2)) return;
  TellEvent("etcd is down");
  network_.StopEtcdUntil(scheduler_.now() + etcd_random_.Between(kSecond, 8 * kSecond));
}

// Strikes while the node reads the log, which takes a few milliseconds.
void SimulatedFleet::TroubleTakeOver(Node& node) {
  if (is_healed_ || !random_.OneIn(4)) return;
  scheduler_.After(random_.Between(0, 20 * kMs), [this, &node] {
    if (!is_healed_) Pause(node, random_.Between(200 * kMs, 6 * kSecond));
  });
}

// Strikes the leader or its successor while the leader hands over for the balance.
void SimulatedFleet::TroubleHandOver(const std::string& claim) {
  const std::size_t to = claim.find(" to ");
  if (is_healed_ || to == std::string::npos || random_.OneIn(2)) return;
  const std::string name = random_.OneIn(2) ? claim.substr(0, to) : claim.substr(to + 4);
  scheduler_.After(random_.Between(0, 30 * kMs), [this, name] {
    Node& node = *std::ranges::find(nodes_, name, &Node::name);
    random_.OneIn(2) ? Kill(node) : Pause(node, random_.Between(200 * kMs, 9 * kSecond));
  });
}

// An operator, or a time service, sets the wall clock of a machine. Some clocks are wrong by a day
// until they are corrected.
void SimulatedFleet::SetClock() {
  constexpr TimeUs kDay = 86'400 * kSecond;
  if (is_healed_) return;
  Node& node = nodes_[clock_random_.Below(nodes_.size())];
  const bool is_wrong = clock_random_.OneIn(3);
  node.wall_offset =
      is_wrong ? clock_random_.Between(0, kDay) : clock_random_.Between(0, setting_.wall_skew);
  TellEvent(node.name + ": its wall clock is set");
  scheduler_.After(clock_random_.Between(kMs, 4 * kSecond), [this] { SetClock(); });
}

// Trouble with etcd that only some seeds have.
void SimulatedFleet::TroubleEtcd() {
  if (is_healed_) return;
  const TimeUs now = scheduler_.now();
  if (setting_.changes_passwords) {
    TellEvent("etcd refuses all logins");
    network_.RefuseLoginsUntil(now + etcd_random_.Between(100 * kMs, 5 * kSecond));
  }
  if (setting_.has_second_endpoint) {
    TellEvent("the second endpoint leads to another etcd cluster");
    network_.MisleadUntil(now + etcd_random_.Between(100 * kMs, 8 * kSecond));
  }
  if (setting_.breaks_watches) {
    Node& node = AnyNode(false, etcd_random_);
    TellEvent(node.name + ": its watches fail");
    network_.BreakStreams(node.name, now + etcd_random_.Between(kSecond, 8 * kSecond));
  }
  if (setting_.cuts_off_for_long) {
    CutOff(AnyNode(true, etcd_random_), etcd_random_.Between(6 * kSecond, 12 * kSecond));
  }
  // The next leader then takes over at once, while most leases have long to run.
  if (setting_.fails_at_take_overs && !network_.is_down()) Stop(AnyNode(true, etcd_random_));
  scheduler_.After(etcd_random_.Between(kSecond, 10 * kSecond), [this] { TroubleEtcd(); });
}

void SimulatedFleet::Compact() {
  TellEvent("someone compacts etcd's history");
  etcd_.Compact(etcd_.revision());
}

// docs/HIGH_AVAILABILITY.md asks operators to stop all nodes first, or to leave all of them
// running. Nodes that keep running do no harm, but those that have seen the lost state need the
// operator.
void SimulatedFleet::RestoreBackup() {
  for (Node& node : nodes_) {
    if (!setting_.restore_spares_standbys || node.taken_over_at != 0) Kill(node);
  }
  TellEvent("etcd is restored from a backup");
  etcd_.Restore();
  ForgetTakeOvers();
  const std::string prefix = storage::replicated::FleetPrefix(kFleetName) + "n/";
  balance_.Restore();
  reports_.Restore();
  succession_.Restore();
  log_.Restore();
  assignments_.Restore(etcd_.Range({.key = prefix, .range_end = etcd::EndOfPrefix(prefix)}).found);
  network_.EndStreams();
  ledger_.ForgetAll();
  AcceptRestore();
}

void SimulatedFleet::AcceptRestore() {
  scheduler_.After(random_.Between(100 * kMs, 3 * kSecond), [this] {
    if (is_over_) return;
    for (Node& node : nodes_) {
      if (node.run) node.run->AcceptRestore();
    }
    AcceptRestore();
  });
}

void SimulatedFleet::Heal() {
  is_healed_ = true;
  TellEvent("everything is repaired");
  balance_.Heal(scheduler_.now());
  network_.set_faults({});
  network_.StopEtcdUntil(0);
  network_.SlowDownUntil(0);
  network_.RefuseLoginsUntil(0);
  network_.MisleadUntil(0);
  network_.BreakStreams("", 0);
  for (Node& node : nodes_) {
    if (node.run) scheduler_.Continue(node.run->process());
    node.continued_at = scheduler_.now();
    network_.CutOff(node.name, 0);
  }
}

}  // namespace fairlock::fleet
