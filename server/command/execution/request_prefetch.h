// Prefetches what a request will need into the cache, before the request is executed.
#pragma once

#include <cstdint>

#include "server/command/table/command_table.h"
#include "server/command/table/request_window.h"
#include "server/engine/lock_engine.h"
#include "server/record/recorder.h"

namespace fairlock::command {

// The results are only hints, because an earlier request may still change the database.
// Loop-confined.
class RequestPrefetch {
 public:
  RequestPrefetch(const CommandTable& table, const engine::LockEngine& engine,
                  const record::Recorder& recorder)
      : table_(table), engine_(engine), recorder_(recorder) {}

  // Finds the row of a request that will be executed soon, and prefetches its key's place in the
  // lock table; PrefetchLock, called a moment later, prefetches the lock itself.
  void Prepare(std::uint8_t database, RequestAhead& request) const;
  void PrefetchLock(const RequestAhead& request) const {
    if (request.key.hash != 0) engine_.PrefetchLock(request.key.hash);
  }

 private:
  const CommandTable& table_;
  const engine::LockEngine& engine_;
  const record::Recorder& recorder_;
};

}  // namespace fairlock::command
