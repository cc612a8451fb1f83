// How often a log-in from one address may fail.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "server/engine/api/types.h"

namespace fairlock::access {

// A number of failures at once, and as many again in each minute. Addresses of one network of IPv6
// (/64) count as one. At most kAddressesMax are remembered. Loop-confined.
class FailedLogIns {
 public:
  static constexpr std::size_t kAddressesMax = 4096;

  // 0: they are not counted.
  void set_per_minute_max(std::int64_t failures) { per_minute_max_ = failures; }

  // How long the address has to wait before it may try again; 0: it may now.
  engine::DurationMs WaitOf(std::string_view address, engine::TimeMs now) const;
  void Add(std::string_view address, engine::TimeMs now);
  // One that was added was none.
  void TakeBack(std::string_view address);

 private:
  engine::DurationMs CostMs() const { return 60'000 / per_minute_max_; }
  void MakeRoom(engine::TimeMs now);

  std::int64_t per_minute_max_ = 0;
  // When all failures of an address are made up for, if each one takes CostMs.
  std::unordered_map<std::string, engine::TimeMs> paid_at_;
};

// "10.0.0.7" of "10.0.0.7:51234", the first 64 bits of an address of IPv6; a path as it is.
std::string NetworkOf(std::string_view address);

}  // namespace fairlock::access
