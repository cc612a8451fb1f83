// Follows the changes of a key or of a range of keys, on a thread of its own.
#pragma once

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
  std::string range_end = {};  // empty means the key alone; otherwise all keys in [key, range_end)
  std::int64_t revision = 0;   // the first revision to report; 0 means from now on
};

// The thread of the watch calls these functions, and waits until they return. None of them may stop
// or destroy the watch.
struct WatchReports {
  // A stream has begun, and etcd's store is at this revision. Events may follow, the oldest first.
  std::function<void(std::int64_t revision)> began;
  // Receives the events of whole revisions, in order, each once.
  std::function<void(const std::vector<WatchEvent>& events)> events;
  // The stream has ended, or its endpoint cannot be reached. The watch continues at the next
  // endpoint without missing events.
  std::function<void(const std::string& message)> lost;
  // etcd has discarded its history up to this revision, including events that were never delivered.
  // The watch has ended: read the current state, and begin another watch from there.
  std::function<void(std::int64_t revision)> compacted;
};

// When nothing has arrived for kQuietTime, the watch asks etcd for its progress. If there is no
// response within EtcdOptions::attempt_timeout after that, the stream counts as lost. When every
// endpoint has failed once, the watch pauses, for at most 1 s.
class EtcdWatch {
 public:
  static constexpr std::chrono::milliseconds kQuietTime{500};

  // Fails if the options contradict each other or a file cannot be read. All reports must be set.
  static Result<std::unique_ptr<EtcdWatch>> Begin(const EtcdOptions& options, WatchTarget target,
                                                  WatchReports reports);

  EtcdWatch(const EtcdWatch&) = delete;
  EtcdWatch& operator=(const EtcdWatch&) = delete;
  ~EtcdWatch();

  // After this returns, nothing is reported. Waits until a report that is being delivered has
  // returned, and for an attempt to connect, at most twice EtcdOptions::attempt_timeout.
  void Stop();

 private:
  class Follower;

  explicit EtcdWatch(std::unique_ptr<Follower> follower);

  std::unique_ptr<Follower> follower_;
};

}  // namespace fairlock::storage::etcd
