#include "tests/simulation/fleet/report_judge.h"

#include <algorithm>

#include "storage/replicated/beat.h"
#include "storage/replicated/node_record.h"

namespace fairlock::fleet {

namespace {

// A leader that was replaced may still get an answer to an earlier request, then writes its next
// beat, and is unsure if that is not confirmed.
constexpr TimeUs kReplaced = 2 * kSecond + 500 * kMs + 2 * kSecond;
constexpr std::int64_t kLostMs = 4'000;
constexpr TimeUs kTurn = 500 * kMs;

}  // namespace

void ReportJudge::Fail(const command::FleetReport& report, const std::string& text) {
  if (!violation_) violation_ = report.node + " says that " + text;
}

void ReportJudge::Hear(const storage::etcd::WatchEvent& event, TimeUs now) {
  if (!event.kv.key.starts_with(prefix_)) return;
  const std::string key = event.kv.key.substr(prefix_.size());
  const bool is_put = event.kind == storage::etcd::WatchEvent::Kind::kPut;
  if (key.starts_with("p/") && key.ends_with("/beat") && is_put) {
    HearBeat(static_cast<std::uint32_t>(std::stoul(key.substr(2))), event.kv.value, now);
  }
  if (!key.starts_with("n/")) return;
  const std::string node = key.substr(2);
  if (is_put && storage::replicated::DecodeNode(node, event.kv.value)->leads) {
    says_that_leads_.try_emplace(node, now);
  } else {
    says_that_leads_.erase(node);
  }
}

void ReportJudge::HearBeat(std::uint32_t partition, const std::string& value, TimeUs now) {
  const auto beat = storage::replicated::DecodeBeat(value);
  Led& led = led_[partition];
  if (std::exchange(led.leader, beat->leader) != beat->leader) led.since = now;
}

void ReportJudge::See(const Statement& statement, TimeUs now) {
  if (is_restored_) return;
  if (!statement.report.leader.empty()) CheckLeader(statement, now);
  CheckNodes(statement.report, now);
}

void ReportJudge::CheckLeader(const Statement& statement, TimeUs now) {
  const command::FleetReport& report = statement.report;
  const Led& led = led_[report.partition];
  if (report.leader != report.node) {
    if (report.leader_heard_ms < kLostMs) return;
    return Fail(report, report.leader + " leads, but it has not heard of it for " +
                            std::to_string(report.leader_heard_ms) + " ms");
  }
  if (statement.is_unsure) return Fail(report, "it leads, but etcd does not confirm it");
  if (led.leader == report.node) return;
  if (now < std::max(led.since, statement.since) + kReplaced + kTurn) return;
  Fail(report, "it leads, but " + led.leader + " has replaced it");
}

// The list may be as old as it says.
void ReportJudge::CheckNodes(const command::FleetReport& report, TimeUs now) {
  const TimeUs read_at = now - (report.age_ms + 1) * kMs;
  for (const command::FleetNode& node : report.nodes) {
    const bool is_peer = node.partition == report.partition;
    if (is_peer && node.role == command::FleetRole::kLeader && node.name != report.leader) {
      Fail(report, node.name + " leads too");
    }
    const auto says = says_that_leads_.find(node.name);
    if (says == says_that_leads_.end() || says->second + 2 * kSecond > read_at) continue;
    if (node.role != command::FleetRole::kStandby) continue;
    Fail(report, node.name + " stands by, but its record says that it leads");
  }
}

}  // namespace fairlock::fleet
