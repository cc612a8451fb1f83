// What a connection has cost recently.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace fairlock::net {

// Work is counted in the bytes of requests and replies. What was done is forgiven little by little,
// so that a client who asks now and then never owes anything, and one who sends without end always
// does. Loop-confined.
class FairShareMeter {
 public:
  // A connection that owes more is deferred.
  static constexpr std::uint32_t kShareBytes = 8 * 1024;
  // About a thousand LOCKs a second.
  static constexpr std::uint32_t kDecayBytesPerMs = 64;
  // More is never remembered: a second of silence is enough.
  static constexpr std::uint32_t kRecentBytesMax = 64 * 1024;

  void Charge(std::size_t bytes, std::int64_t now_ms) {
    const std::size_t owed = RecentBytes(now_ms) + bytes;
    recent_bytes_ = static_cast<std::uint32_t>(std::min<std::size_t>(owed, kRecentBytesMax));
    charged_at_ = static_cast<std::uint32_t>(now_ms);
  }

  std::uint32_t RecentBytes(std::int64_t now_ms) const {
    const std::uint32_t ms = static_cast<std::uint32_t>(now_ms) - charged_at_;
    constexpr std::uint32_t kMsMax = kRecentBytesMax / kDecayBytesPerMs;
    return recent_bytes_ - std::min(recent_bytes_, std::min(ms, kMsMax) * kDecayBytesPerMs);
  }
  bool IsOverShare(std::int64_t now_ms) const { return RecentBytes(now_ms) > kShareBytes; }

 private:
  std::uint32_t recent_bytes_ = 0;
  std::uint32_t charged_at_ = 0;  // the low bits of it
};

}  // namespace fairlock::net
