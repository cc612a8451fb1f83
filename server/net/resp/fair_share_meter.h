// The recent cost of a connection, decaying over time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace fairlock::net {

// The cost is counted in bytes of requests and replies, and decays at a fixed rate: a client that
// sends a request now and then stays at zero, and one that sends without pause stays above its
// share. Loop-confined.
class FairShareMeter {
 public:
  // Connections with a higher recent cost are deferred.
  static constexpr std::uint32_t kShareBytes = 8 * 1024;
  // About a thousand LOCKs per second.
  static constexpr std::uint32_t kDecayBytesPerMs = 64;
  // A script of a millisecond uses up the share.
  static constexpr std::uint64_t kScriptNsPerByte = 128;
  // The cost is capped, so that one second without requests always clears that of bytes, and eight
  // seconds that of other work.
  static constexpr std::uint32_t kRecentBytesMax = 64 * 1024;
  static constexpr std::uint32_t kRecentWorkMax = 512 * 1024;

  void Charge(std::size_t bytes, std::int64_t now_ms) { Add(bytes, kRecentBytesMax, now_ms); }
  // The work is that of executing that many bytes.
  void ChargeWork(std::size_t bytes, std::int64_t now_ms) { Add(bytes, kRecentWorkMax, now_ms); }

  std::uint32_t RecentBytes(std::int64_t now_ms) const {
    const std::uint32_t ms = static_cast<std::uint32_t>(now_ms) - charged_at_;
    constexpr std::uint32_t kMsMax = kRecentWorkMax / kDecayBytesPerMs;
    return recent_bytes_ - std::min(recent_bytes_, std::min(ms, kMsMax) * kDecayBytesPerMs);
  }
  bool IsOverShare(std::int64_t now_ms) const { return RecentBytes(now_ms) > kShareBytes; }

 private:
  void Add(std::size_t bytes, std::uint32_t recent_max, std::int64_t now_ms) {
    const std::uint32_t recent = RecentBytes(now_ms);
    recent_bytes_ = static_cast<std::uint32_t>(
        std::min<std::size_t>(recent + bytes, std::max(recent, recent_max)));
    charged_at_ = static_cast<std::uint32_t>(now_ms);
  }

  std::uint32_t recent_bytes_ = 0;
  std::uint32_t charged_at_ = 0;  // the low 32 bits of the time
};

}  // namespace fairlock::net
