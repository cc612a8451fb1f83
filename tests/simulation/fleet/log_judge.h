// The judge of how long the logs get. It reads what etcd stores.
//
// The number of frames of a log, which a load must read, is bounded, however small they are and
// however often the leader changes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "storage/etcd/requests.h"

namespace fairlock::fleet {

class LogJudge {
 public:
  // With 0, there is no bound.
  explicit LogJudge(std::uint64_t frames_max) : frames_max_(frames_max) {}

  // Call this with each change of etcd, in order.
  void Hear(const storage::etcd::WatchEvent& event);
  // etcd was restored from a backup: from now on, nothing is judged.
  void Restore() { frames_max_ = 0; }

  const std::optional<std::string>& violation() const { return violation_; }

 private:
  std::uint64_t frames_max_;
  // The number of frames of each log, by the prefix of their keys.
  std::map<std::string, std::uint64_t> frames_;
  std::optional<std::string> violation_;
};

}  // namespace fairlock::fleet
