#include "tests/simulation/fleet/balance_judge.h"

#include <algorithm>
#include <cassert>

#include "tests/simulation/fleet/succession_judge.h"

namespace fairlock::fleet {

namespace {

using storage::replicated::Beat;
using storage::replicated::NodeRecord;

// The records that a leader has read are at most this old when its claim is written.
constexpr TimeUs kStale = 10 * kSecond;
constexpr TimeUs kHandOverMax = kSecond;
// A hand-over that is due begins within a few rounds of the observer.
constexpr TimeUs kRounds = 4 * kSecond;
constexpr TimeUs kRepairs = 5 * kSecond;  // after this time, nothing is left of the last fault

// The leader of each partition. Empty if a partition has none.
std::vector<NodeRecord> LeadersIn(const std::map<std::string, NodeRecord>& records,
                                  std::uint32_t partitions) {
  std::vector<std::optional<NodeRecord>> found(partitions);
  for (const auto& [name, record] : records) {
    if (!record.leads || record.partition >= partitions) continue;
    auto& leader = found[record.partition];
    if (!leader || record.epoch > leader->epoch) leader = record;
  }
  std::vector<NodeRecord> leaders;
  for (const auto& leader : found) {
    if (!leader) return {};
    leaders.push_back(*leader);
  }
  return leaders;
}

std::int64_t LedBy(const std::vector<NodeRecord>& leaders, const std::string& machine) {
  return std::ranges::count(leaders, machine, &NodeRecord::machine);
}

}  // namespace

void BalanceJudge::Fail(std::string text) {
  if (!violation_) violation_ = std::move(text);
}

void BalanceJudge::Hear(const storage::etcd::WatchEvent& event, TimeUs now) {
  if (!event.kv.key.starts_with(options_.prefix)) return;
  const std::string key = event.kv.key.substr(options_.prefix.size());
  const bool is_put = event.kind == storage::etcd::WatchEvent::Kind::kPut;
  if (key.starts_with("n/")) HearRecord(event, key.substr(2), now);
  if (key == "claims" && is_put) HearClaim(event.kv.value, now);
  if (key.starts_with("p/") && key.ends_with("/beat") && is_put) {
    HearBeat(static_cast<std::uint32_t>(std::stoul(key.substr(2))), event.kv.value, now);
  }
}

void BalanceJudge::HearRecord(const storage::etcd::WatchEvent& event, const std::string& node,
                              TimeUs now) {
  changed_at_ = now;
  Records records = moments_.back().records;
  records.erase(node);
  if (event.kind == storage::etcd::WatchEvent::Kind::kPut) {
    const auto record = storage::replicated::DecodeNode(node, event.kv.value);
    assert(record.ok());
    records[node] = record.value();
    if (record->leads) led_since_.try_emplace({node, record->epoch}, now);
  }
  moments_.push_back({now, std::move(records)});
  while (moments_.size() > 1 && moments_[1].since < now - kStale) moments_.pop_front();
}

void BalanceJudge::HearClaim(const std::string& value, TimeUs now) {
  changed_at_ = now;
  const TimeUs claimed_before = std::exchange(claimed_at_, now);
  const std::size_t at = value.find(" to ");
  if (at == std::string::npos || is_restored_) return;
  const std::string leader = value.substr(0, at);
  const std::string successor = value.substr(at + 4);
  claim_ = {leader, successor};
  if (now - claimed_before < options_.balance_after) {
    return Fail(leader + " hands over " + std::to_string((now - claimed_before) / kMs) +
                " ms after the last claim");
  }
  const bool may = std::ranges::any_of(moments_, [&](const Moment& moment) {
    return MayHandOver(moment.records, leader, successor, now - options_.balance_after);
  });
  if (!may) Fail(leader + " hands over to " + successor + " without the right to do so");
}

bool BalanceJudge::MayHandOver(const Records& records, const std::string& leader,
                               const std::string& successor, TimeUs before) const {
  if (!IsCalm(records, before) || !records.contains(successor)) return false;
  const std::vector<NodeRecord> leaders = LeadersIn(records, options_.partitions);
  const NodeRecord& next = records.at(successor);
  const NodeRecord& own = leaders[next.partition];
  Nodes nodes;
  for (const auto& [name, record] : records) nodes.push_back(record);
  return own.name == leader && !next.leads && IsReady(nodes, next) &&
         LedBy(leaders, own.machine) - LedBy(leaders, next.machine) >= 2;
}

// Whether all partitions have leaders that led before that time, and no node loads.
bool BalanceJudge::IsCalm(const Records& records, TimeUs before) const {
  const std::vector<NodeRecord> leaders = LeadersIn(records, options_.partitions);
  const auto is_old = [&](const NodeRecord& leader) {
    const auto since = led_since_.find({leader.name, leader.epoch});
    return since != led_since_.end() && since->second <= before;
  };
  const auto is_in_sync = [](const auto& record) { return record.second.is_in_sync; };
  return !leaders.empty() && std::ranges::all_of(leaders, is_old) &&
         std::ranges::all_of(records, is_in_sync);
}

void BalanceJudge::HearBeat(std::uint32_t partition, const std::string& value, TimeUs now) {
  const auto decoded = storage::replicated::DecodeBeat(value);
  assert(decoded.ok());
  const Beat& beat = decoded.value();
  Led& led = led_[partition];
  const bool was_named = led.beat.state == Beat::State::kHandedOver && !led.beat.successor.empty();
  if (was_named && options_.leads(led.beat.leader, partition)) {
    Fail(led.beat.leader + " still leads, but " + beat.leader + " has taken over");
  }
  const bool is_judged = healed_at_ >= 0 && led.since > healed_at_ + kRepairs;
  if (was_named && is_judged && now - led.since > kHandOverMax) {
    Fail("partition " + std::to_string(partition) + " had no leader for " +
         std::to_string((now - led.since) / kMs) + " ms");
  }
  const bool is_named = beat.state == Beat::State::kHandedOver && !beat.successor.empty();
  if (is_named && options_.balances(beat.leader)) CheckNamedSuccessor(beat);
  led = {.beat = beat, .since = now};
}

void BalanceJudge::CheckNamedSuccessor(const Beat& beat) {
  ++hand_overs_;
  if (is_restored_ || std::exchange(claim_, std::nullopt) == std::pair(beat.leader, beat.successor))
    return;
  Fail(beat.leader + " hands over to " + beat.successor + " without a claim, or late");
}

void BalanceJudge::Finish(TimeUs now) {
  const TimeUs calm_since = now - options_.balance_after - kRounds;
  if (options_.balance_after == 0 || is_restored_ || changed_at_ > calm_since) return;
  const Records& records = moments_.back().records;
  for (const auto& [name, record] : records) {
    const std::vector<NodeRecord> leaders = LeadersIn(records, options_.partitions);
    if (leaders.empty()) return;
    if (!MayHandOver(records, leaders[record.partition].name, name, calm_since)) continue;
    Fail(name + " should lead partition " + std::to_string(record.partition) +
         ", because its machine leads too few");
  }
}

}  // namespace fairlock::fleet
