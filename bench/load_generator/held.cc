#include "bench/load_generator/held.h"

#include <algorithm>
#include <string>

#include "bench/load_generator/failure.h"
#include "bench/load_generator/process_meter.h"

namespace fairlock::bench {

namespace {

constexpr std::size_t kKeysAtOnce = 500;
constexpr std::size_t kWarmUpLocks = 10'000;

class Taker {
 public:
  explicit Taker(const HeldOptions& options) : options_(options), connection_(options.endpoint) {}

  // Acquires locks 0 to count - 1. With `ends_at_ns`, all leases end at that time.
  void Take(std::size_t count, std::uint64_t ends_at_ns);
  void Release(std::size_t count);

 private:
  std::uint64_t LeaseMs(std::uint64_t ends_at_ns) const;

  const HeldOptions& options_;
  Connection connection_;
  std::string requests_;
};

std::uint64_t Taker::LeaseMs(std::uint64_t ends_at_ns) const {
  if (ends_at_ns == 0) return options_.lease_ms;
  const std::uint64_t now = MonotonicNs();
  if (now + 1'000'000 > ends_at_ns)
    Fail("the leases end before all locks are acquired; a larger --lease-ms is needed");
  return (ends_at_ns - now) / 1'000'000;
}

void Taker::Take(std::size_t count, std::uint64_t ends_at_ns) {
  for (std::size_t first = 0; first < count; first += kKeysAtOnce) {
    const std::size_t end = std::min(first + kKeysAtOnce, count);
    const std::uint64_t lease_ms = LeaseMs(ends_at_ns);
    requests_.clear();
    for (std::size_t i = first; i < end; ++i) {
      options_.dialect->append_lock(requests_, KeyName(i, options_.key_bytes),
                                    OwnerName(i, options_.owner_bytes), lease_ms);
    }
    connection_.Send(requests_);
    for (std::size_t i = first; i < end; ++i) {
      if (!options_.dialect->is_locked(connection_.AwaitReply()))
        Fail("a free lock was not granted");
    }
  }
}

void Taker::Release(std::size_t count) {
  for (std::size_t first = 0; first < count; first += kKeysAtOnce) {
    const std::size_t end = std::min(first + kKeysAtOnce, count);
    requests_.clear();
    for (std::size_t i = first; i < end; ++i) {
      options_.dialect->append_unlock(requests_, KeyName(i, options_.key_bytes),
                                      OwnerName(i, options_.owner_bytes));
    }
    connection_.Send(requests_);
    for (std::size_t i = first; i < end; ++i) {
      if (!options_.dialect->is_unlocked(connection_.AwaitReply())) {
        Fail("a held lock was not released");
      }
    }
  }
}

}  // namespace

HeldResult TakeAndLeave(const HeldOptions& options) {
  Taker taker(options);
  const std::size_t warm_up = std::min(kWarmUpLocks, options.locks);
  taker.Take(warm_up, 0);
  taker.Release(warm_up);
  HeldResult result;
  const std::uint64_t resident_before = ResidentBytes(options.server_pid);
  const std::uint64_t begin = MonotonicNs();
  if (options.ends_together) result.ends_at_ns = begin + options.lease_ms * 1'000'000;
  taker.Take(options.locks, result.ends_at_ns);
  result.seconds = static_cast<double>(MonotonicNs() - begin) / 1e9;
  result.resident_per_lock = (static_cast<double>(ResidentBytes(options.server_pid)) -
                              static_cast<double>(resident_before)) /
                             static_cast<double>(options.locks);
  return result;
}

}  // namespace fairlock::bench
