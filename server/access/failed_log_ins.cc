#include "server/access/failed_log_ins.h"

#include <algorithm>

#include "text/address.h"

namespace fairlock::access {

namespace {

constexpr engine::DurationMs kMinuteMs = 60'000;

std::size_t CountColons(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), ':'));
}

}  // namespace

std::string NetworkOf(std::string_view address) {
  if (address.starts_with('/')) return std::string(address);
  std::string_view host = text::SplitAddress(address).host;
  if (!host.starts_with('[')) return std::string(host);
  host.remove_prefix(1);
  host = host.substr(0, host.find_first_of("]%"));
  // Parses up to four groups, enough for the network part. "::" stands for omitted groups of zeros.
  constexpr std::size_t kGroups = 8;
  constexpr std::size_t kNetworkGroups = 4;
  const std::size_t gap = host.find("::");
  const std::string_view before = host.substr(0, gap);
  const std::string_view after =
      gap == std::string_view::npos ? std::string_view() : host.substr(gap + 2);
  const std::size_t groups_after = after.empty() ? 0 : CountColons(after) + 1;
  std::string network;
  std::size_t groups = 0;
  const auto add = [&](std::string_view part) {
    while (!part.empty() && groups < kNetworkGroups) {
      const std::size_t end = std::min(part.find(':'), part.size());
      network.append(part.substr(0, end)).append(":");
      part.remove_prefix(std::min(end + 1, part.size()));
      ++groups;
    }
  };
  add(before);
  while (gap != std::string_view::npos &&
         groups < std::min(kNetworkGroups, kGroups - groups_after)) {
    network += "0:";
    ++groups;
  }
  add(after);
  return network;
}

engine::DurationMs FailedLogIns::WaitOf(std::string_view address, engine::TimeMs now) const {
  if (per_minute_max_ == 0 || paid_at_.empty()) return 0;
  const auto found = paid_at_.find(NetworkOf(address));
  if (found == paid_at_.end()) return 0;
  return std::max<engine::DurationMs>(found->second + CostMs() - now - kMinuteMs, 0);
}

void FailedLogIns::Add(std::string_view address, engine::TimeMs now) {
  if (per_minute_max_ == 0) return;
  const std::string network = NetworkOf(address);
  if (paid_at_.size() >= kAddressesMax && !paid_at_.contains(network)) MakeRoom(now);
  engine::TimeMs& paid_at = paid_at_[network];
  paid_at = std::max(paid_at, now) + CostMs();
}

void FailedLogIns::TakeBack(std::string_view address) {
  if (per_minute_max_ == 0) return;
  const auto found = paid_at_.find(NetworkOf(address));
  if (found != paid_at_.end()) found->second -= CostMs();
}

void FailedLogIns::MakeRoom(engine::TimeMs now) {
  std::erase_if(paid_at_, [&](const auto& entry) { return entry.second <= now; });
  if (paid_at_.size() < kAddressesMax) return;
  // Forgets the address that has the least time left to wait.
  paid_at_.erase(
      std::min_element(paid_at_.begin(), paid_at_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; }));
}

}  // namespace fairlock::access
