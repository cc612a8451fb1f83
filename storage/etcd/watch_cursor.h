// Keeps track of which events of a watch have been delivered, across all its streams.
#pragma once

#include <etcd.pb.h>

#include <cstdint>
#include <vector>

#include "storage/etcd/requests.h"

namespace fairlock::storage::etcd {

// Delivers whole revisions only, each once. etcd cuts long responses into fragments, and may cut
// within a revision; the events of a revision that may be incomplete are held back.
class WatchCursor {
 public:
  // `revision` is the first one to deliver; 0 means the first one after the watch has begun.
  explicit WatchCursor(std::int64_t revision) : next_(revision) {}

  // The events of a response that can be delivered now.
  std::vector<WatchEvent> Take(etcdserverpb::WatchResponse&& response);

  // The revision from which a new stream continues; 0 if no stream has begun.
  std::int64_t next_revision() const { return next_; }

  // Call this when a new stream begins. Drops the events that were held back, because the new
  // stream sends them again.
  void BeginStream() { held_back_.clear(); }

 private:
  std::int64_t next_;
  std::vector<WatchEvent> held_back_;
};

}  // namespace fairlock::storage::etcd
