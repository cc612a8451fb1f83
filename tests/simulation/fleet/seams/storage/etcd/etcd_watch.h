// Replaces a watch of etcd. It reports the changes of the modelled etcd, which arrive over the
// simulated network.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/etcd/etcd_options.h"
#include "storage/etcd/requests.h"
#include "storage/status.h"

namespace fairlock::storage::etcd {

struct WatchTarget {
  std::string key = {};
  std::string range_end = {};
  std::int64_t revision = 0;
};

struct WatchReports {
  std::function<void(std::int64_t revision)> began;
  std::function<void(const std::vector<WatchEvent>& events)> events;
  std::function<void(const std::string& message)> lost;
  std::function<void(std::int64_t revision)> compacted;
};

// Follows the changes on a fiber of its own.
class EtcdWatch {
 public:
  static constexpr std::chrono::milliseconds kQuietTime{500};

  static Result<std::unique_ptr<EtcdWatch>> Begin(const EtcdOptions& options, WatchTarget target,
                                                  WatchReports reports);

  EtcdWatch(const EtcdWatch&) = delete;
  EtcdWatch& operator=(const EtcdWatch&) = delete;
  ~EtcdWatch();

  void Stop();

 private:
  class Follower;

  explicit EtcdWatch(std::unique_ptr<Follower> follower);

  std::unique_ptr<Follower> follower_;
};

}  // namespace fairlock::storage::etcd
