#include "cli/commands/fleet_events.h"

#include <poll.h>

#include <algorithm>
#include <utility>

namespace fairlock::cli {

namespace {

constexpr DurationMs kNextFindMs = 500;
constexpr DurationMs kEventPollMsMax = 60'000;

}  // namespace

FleetEvents::FleetEvents(std::string pattern, const FleetLeaders& leaders, Context& context)
    : pattern_(std::move(pattern)), context_(context), sources_(leaders.size()) {
  Subscribe(leaders);
}

void FleetEvents::Subscribe(const FleetLeaders& leaders) {
  for (std::size_t partition = 0; partition < sources_.size(); ++partition) {
    Source& source = sources_[partition];
    if (source.connection != nullptr || partition >= leaders.size()) continue;
    const FleetLeaders::Leader& leader = leaders.leader(partition);
    if (leader.failure) {
      Lose(partition, leader.failure->text);
      continue;
    }
    source.connection =
        std::make_unique<AsyncConnection>(leader.client->SettingsOfServer(), context_.login);
    source.connection->Open(NowMs());
    source.connection->Send({"PSUBSCRIBE", pattern_});
  }
}

void FleetEvents::Lose(std::size_t partition, const std::string& reason) {
  Source& source = sources_[partition];
  if (!source.was_said) {
    context_.Say("partition " + std::to_string(partition) + ": " + reason +
                 "; its events may be missed until a node leads it");
  }
  source.was_said = true;
  source.connection.reset();
  find_at_ = std::min(find_at_, NowMs() + kNextFindMs);
}

void FleetEvents::FindLost() {
  find_at_ = kForever;
  context_.client.Reconnect();
  const Result<FleetLeaders> leaders = context_.FindLeaders();
  if (leaders) {
    Subscribe(*leaders);
  } else {
    find_at_ = NowMs() + kNextFindMs;
  }
}

std::optional<protocol::Reply> FleetEvents::TakeReceived() {
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const std::size_t partition = (next_source_ + i) % sources_.size();
    Source& source = sources_[partition];
    if (source.connection == nullptr) continue;
    // A standby accepts subscriptions, but publishes nothing.
    if (source.connection->is_ready() && source.connection->is_at_standby()) {
      Lose(partition, source.connection->ServerName() + " does not lead any more");
      continue;
    }
    if (auto reply = source.connection->Take()) {
      source.was_said = false;
      next_source_ = partition + 1;
      return reply;
    }
    if (source.connection->state() == AsyncConnection::State::kClosed) {
      Lose(partition, Failure(source.connection->end()).text);
    }
  }
  return std::nullopt;
}

void FleetEvents::WaitForEvents(TimeMs until) {
  std::vector<pollfd> polled;
  TimeMs wake_at = std::min(until, find_at_);
  for (const Source& source : sources_) {
    if (source.connection == nullptr) continue;
    polled.push_back(source.connection->Interest());
    wake_at = std::min(wake_at, source.connection->WakeAt());
  }
  const DurationMs left = std::clamp<DurationMs>(wake_at - NowMs(), 0, kEventPollMsMax);
  ::poll(polled.data(), polled.size(), static_cast<int>(left));
  for (const Source& source : sources_) {
    if (source.connection != nullptr) source.connection->Advance(NowMs());
  }
}

std::optional<protocol::Reply> FleetEvents::Next(TimeMs until) {
  while (true) {
    if (auto reply = TakeReceived()) return reply;
    if (NowMs() >= until) return std::nullopt;
    if (NowMs() >= find_at_) FindLost();
    WaitForEvents(until);
  }
}

bool FleetEvents::is_whole() const {
  return std::ranges::all_of(sources_,
                             [](const Source& source) { return source.connection != nullptr; });
}

}  // namespace fairlock::cli
