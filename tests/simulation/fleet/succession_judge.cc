#include "tests/simulation/fleet/succession_judge.h"

#include <algorithm>

namespace fairlock::fleet {

namespace {

using storage::replicated::Beat;
using storage::replicated::NodeRecord;

constexpr TimeUs kKept = 15 * kSecond;
constexpr std::uint64_t kFramesMax = 100;
constexpr TimeUs kWaitMore = 2 * kSecond;
constexpr TimeUs kSilence = 2 * kSecond;  // before and after the canary
constexpr TimeUs kSlack = 5 * kMs;

bool Names(const std::string& names, const std::string& node) {
  return (" " + names + " ").find(" " + node + " ") != std::string::npos;
}

// Whether a standby of the partition is ready: the one of that name, or any except `leader`.
bool HasReady(const Nodes& nodes, std::uint32_t partition, const std::string& leader,
              const std::string& name) {
  return std::ranges::any_of(nodes, [&](const NodeRecord& node) {
    const bool is_wanted = name.empty() ? node.name != leader : node.name == name;
    return node.partition == partition && !node.leads && is_wanted && IsReady(nodes, node);
  });
}

}  // namespace

bool IsReady(const Nodes& nodes, const NodeRecord& node) {
  if (!node.is_in_sync || node.frames_behind >= kFramesMax) return false;
  int reached = 0;
  for (const NodeRecord& other : nodes) {
    if (other.partition != node.partition || other.name == node.name) continue;
    reached += Names(other.unreached, node.name) ? -1 : 1;
  }
  return reached >= 0;
}

void SuccessionJudge::Fail(std::string text) {
  if (!violation_) violation_ = std::move(text);
}

void SuccessionJudge::Hear(const storage::etcd::WatchEvent& event, TimeUs now) {
  if (!event.kv.key.starts_with(prefix_)) return;
  const std::string key = event.kv.key.substr(prefix_.size());
  if (key.starts_with("n/")) HearRecord(event, key.substr(2), now);
  const bool is_put = event.kind == storage::etcd::WatchEvent::Kind::kPut;
  if (key.starts_with("p/") && key.ends_with("/beat") && is_put) {
    HearBeat(static_cast<std::uint32_t>(std::stoul(key.substr(2))), event.kv.value, now);
  }
}

void SuccessionJudge::HearRecord(const storage::etcd::WatchEvent& event, const std::string& node,
                                 TimeUs now) {
  Nodes nodes = moments_.back().nodes;
  std::erase_if(nodes, [&](const NodeRecord& record) { return record.name == node; });
  if (event.kind == storage::etcd::WatchEvent::Kind::kPut) {
    nodes.push_back(storage::replicated::DecodeNode(node, event.kv.value).value());
  }
  moments_.push_back({now, std::move(nodes)});
  while (moments_.size() > 1 && moments_[1].since < now - kKept) moments_.pop_front();
}

void SuccessionJudge::SeeRanked(const Nodes& known, const NodeRecord& own, TimeUs now) {
  if (!IsReady(known, own) && HasReady(known, own.partition, own.name, "")) {
    waits_since_.try_emplace(own.name, now);
  } else {
    waits_since_.erase(own.name);
  }
}

void SuccessionJudge::SeeHandOver(const HandOver& hand_over) {
  if (is_restored_) return;
  bool was_ready = false;  // the successor, or, if there is none, any standby
  bool was_always = true;
  for (std::size_t i = 0; i < moments_.size(); ++i) {
    const bool was_over = i + 1 < moments_.size() && moments_[i + 1].since < hand_over.known_at;
    if (was_over) continue;
    const bool is_ready =
        HasReady(moments_[i].nodes, hand_over.partition, hand_over.leader, hand_over.successor);
    was_ready |= is_ready;
    was_always &= is_ready;
  }
  if (hand_over.successor.empty() && was_always) {
    Fail(hand_over.leader + " names no successor, but a standby is ready");
  }
  if (!hand_over.successor.empty() && !was_ready) {
    Fail(hand_over.leader + " hands over to " + hand_over.successor + ", which is not ready");
  }
}

void SuccessionJudge::HearBeat(std::uint32_t partition, const std::string& value, TimeUs now) {
  const Beat beat = storage::replicated::DecodeBeat(value).value();
  Led& led = led_[partition];
  if (beat.epoch > led.beat.epoch && led.beat.epoch != 0) CheckTakeOver(led, beat.leader, now);
  led = {.beat = beat, .at = now};
}

// The node saw the last beat before it began to wait.
void SuccessionJudge::CheckTakeOver(const Led& before, const std::string& node, TimeUs now) {
  const auto waits = waits_since_.find(node);
  if (is_restored_ || waits == waits_since_.end() || waits->second > before.at) return;
  const bool is_handed_over = before.beat.state == Beat::State::kHandedOver;
  if (is_handed_over && before.beat.successor == node) return;
  const TimeUs since = before.at + (is_handed_over ? 0 : kSilence);
  if (now + kSlack >= since + kWaitMore) return;
  Fail(node + " takes over although it is not ready and another standby is");
}

}  // namespace fairlock::fleet
