// Limits failed log-ins per address.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "server/engine/api/types.h"

namespace fairlock::access {

// Allows each address a certain number of failures at once, and as many again every minute. All
// IPv6 addresses of one network (/64) count as one address. Remembers at most kAddressesMax
// addresses. For use by the loop thread only.
class FailedLogIns {
 public:
  static constexpr std::size_t kAddressesMax = 4096;

  // 0 disables the limit.
  void set_per_minute_max(std::int64_t failures) { per_minute_max_ = failures; }

  // Returns how long the address must wait before it may try again; 0 if it may try now.
  engine::DurationMs WaitOf(std::string_view address, engine::TimeMs now) const;
  void Add(std::string_view address, engine::TimeMs now);
  // Removes a failure that was counted by mistake.
  void TakeBack(std::string_view address);

 private:
  engine::DurationMs CostMs() const { return 60'000 / per_minute_max_; }
  void MakeRoom(engine::TimeMs now);

  std::int64_t per_minute_max_ = 0;
  // For each address, the time from which its failures no longer count; each failure adds CostMs.
  std::unordered_map<std::string, engine::TimeMs> paid_at_;
};

// Maps "10.0.0.7:51234" to "10.0.0.7", an IPv6 address to its first 64 bits, and a path to itself.
std::string NetworkOf(std::string_view address);

}  // namespace fairlock::access
