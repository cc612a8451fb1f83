// The reply to INFO, parsed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/base/result.h"
#include "cli/connection/client.h"
#include "cli/connection/fleet_leaders.h"

namespace fairlock::cli {

class InfoReport {
 public:
  struct Field {
    std::string section;  // "Locks"
    std::string name;
    std::string value;
  };

  explicit InfoReport(std::string_view text);

  // Empty or 0 if there is no such field.
  std::string Text(std::string_view name) const;
  std::int64_t Number(std::string_view name) const;
  bool Has(std::string_view name) const { return by_name_.contains(name); }

  // Turns this report into one about both servers: adds up what is counted, and keeps the lower
  // free space and uptime. The other fields remain those of this server.
  void Combine(const InfoReport& other);

  // In the order of the reply.
  const std::vector<Field>& fields() const { return fields_; }

 private:
  std::vector<Field> fields_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
};

Result<InfoReport> FetchInfo(Client& client);

struct LeaderInfo {
  std::size_t partition;
  InfoReport info;
};

// Returns at least one report, or a failure if no leader is left.
Result<std::vector<LeaderInfo>> FetchInfos(FleetLeaders& leaders);

// REQUIRES: there is at least one report.
InfoReport CombinedInfo(const std::vector<LeaderInfo>& infos);

// 1536 as "1.5 KB".
std::string ShowBytes(std::int64_t bytes);

// 1234567 as "1,234,567".
std::string ShowCount(std::int64_t count);

}  // namespace fairlock::cli
