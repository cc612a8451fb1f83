#include "cli/views/info_report.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace fairlock::cli {

InfoReport::InfoReport(std::string_view text) {
  std::string section;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t colon = line.find(':');
    if (line.starts_with("# ")) {
      section = line.substr(2);
    } else if (colon != std::string_view::npos) {
      by_name_[std::string(line.substr(0, colon))] = fields_.size();
      fields_.push_back(
          {section, std::string(line.substr(0, colon)), std::string(line.substr(colon + 1))});
    }
  }
}

std::string InfoReport::Text(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? "" : fields_[found->second].value;
}

std::int64_t InfoReport::Number(std::string_view name) const {
  const std::string text = Text(name);
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void InfoReport::Combine(const InfoReport& other) {
  constexpr auto kAdded = std::to_array<std::string_view>({"connected_clients",
                                                           "maxclients",
                                                           "blocked_clients",
                                                           "used_memory",
                                                           "locks",
                                                           "holders",
                                                           "waiters",
                                                           "watchers",
                                                           "granted",
                                                           "granted_after_wait",
                                                           "denied",
                                                           "released",
                                                           "expired",
                                                           "broken",
                                                           "timed_out",
                                                           "journal_waiting_bytes",
                                                           "rows_loaded",
                                                           "history_file_dropped",
                                                           "short_of_disk",
                                                           "storage_failed",
                                                           "short_of_memory"});
  constexpr auto kLowest =
      std::to_array<std::string_view>({"uptime_in_seconds", "free_disk_bytes"});
  // An override is set on every leader.
  constexpr auto kHighest = std::to_array<std::string_view>({"limit_overrides"});
  const auto combine = [&](const auto& names, const auto& combined) {
    for (const std::string_view name : names) {
      const auto found = by_name_.find(name);
      if (found == by_name_.end()) continue;
      fields_[found->second].value = std::to_string(combined(Number(name), other.Number(name)));
    }
  };
  combine(kAdded, [](std::int64_t a, std::int64_t b) { return a + b; });
  combine(kLowest, [](std::int64_t a, std::int64_t b) { return std::min(a, b); });
  combine(kHighest, [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
}

Result<InfoReport> FetchInfo(Client& client) {
  const Result<protocol::Reply> reply = client.Ask({"INFO"});
  if (!reply) return reply.failure();
  return InfoReport(reply->text);
}

Result<std::vector<LeaderInfo>> FetchInfos(FleetLeaders& leaders) {
  constexpr auto kRequest = std::to_array<std::string_view>({"INFO"});
  const auto replies = leaders.AskAll(kRequest);
  if (!replies) return replies.failure();
  std::vector<LeaderInfo> infos;
  for (const auto& [partition, reply] : *replies) {
    infos.push_back({partition, InfoReport(reply.text)});
  }
  return infos;
}

InfoReport CombinedInfo(const std::vector<LeaderInfo>& infos) {
  InfoReport all = infos.front().info;
  for (std::size_t i = 1; i < infos.size(); ++i) all.Combine(infos[i].info);
  return all;
}

std::string ShowBytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  double value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, unit == 0 ? 0 : 1);
  return std::string(text.data(), end.ptr) + " " + std::string(kUnits[unit]);
}

std::string ShowCount(std::int64_t count) {
  std::string digits = std::to_string(count);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    if (digits[static_cast<std::size_t>(at) - 1] != '-')
      digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

}  // namespace fairlock::cli
