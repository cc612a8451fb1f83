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
  std::string range_end = {};  // empty: the key alone; otherwise all keys in [key, range_end)
  std::int64_t revision = 0;   // the first that is wanted; 0: from now on
};

// Every function is called by the thread of the watch, which waits for its return. None of them may
// stop or destroy the watch.
struct WatchReports {
  // A stream begins; etcd's store is at this revision. Events may follow, older ones first.
  std::function<void(std::int64_t revision)> began;
  // Whole revisions, in order, each once.
  std::function<void(const std::vector<WatchEvent>& events)> events;
  // The stream has ended, or its endpoint cannot be reached. The watch goes on at the next endpoint
  // without a gap.
  std::function<void(const std::string& message)> lost;
  // History up to this revision is gone, and with it events that were never delivered. The watch
  // has ended: read the state anew, and begin another watch after it.
  std::function<void(std::int64_t revision)> compacted;
};

// When nothing has come for kQuietTime, the watch asks etcd for its progress; a stream without any
// response for EtcdOptions::attempt_timeout after that is lost. After one failure at every endpoint
// it pauses, for 1 s at most.
class EtcdWatch {
 public:
  static constexpr std::chrono::milliseconds kQuietTime{500};

  // Fails if the options do not fit together or a file cannot be read. All reports must be set.
  static Result<std::unique_ptr<EtcdWatch>> Begin(const EtcdOptions& options, WatchTarget target,
                                                  WatchReports reports);

  EtcdWatch(const EtcdWatch&) = delete;
  EtcdWatch& operator=(const EtcdWatch&) = delete;
  ~EtcdWatch();

  // No report comes after its return. It waits for a report that is being delivered, and for an
  // attempt to connect: at most twice EtcdOptions::attempt_timeout.
  void Stop();

 private:
  class Follower;

  explicit EtcdWatch(std::unique_ptr<Follower> follower);

  std::unique_ptr<Follower> follower_;
};

}  // namespace fairlock::storage::etcd
