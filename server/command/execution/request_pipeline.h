// Executes the requests of one connection: bytes in, replies out, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/limits.h"
#include "protocol/request_parser.h"
#include "protocol/wire_error.h"
#include "server/command/client/client.h"
#include "server/command/execution/client_lifecycle.h"
#include "server/command/execution/executor.h"
#include "server/command/execution/script_turns.h"
#include "server/command/locks/availability.h"
#include "server/command/statistics/statistics.h"
#include "server/command/table/command_table.h"
#include "server/command/table/glob_walk.h"
#include "server/command/table/invocation.h"
#include "server/engine/api/types.h"
#include "server/engine/lock_engine.h"
#include "server/record/recorder.h"

namespace fairlock::command {

// Prefetches what a request will need into the cache, before the request is executed. The results
// are only hints, because an earlier request may still change the database. Loop-confined.
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

// What all pipelines share.
struct PipelineParts {
  Executor& executor;
  const RequestPrefetch& prefetch;
  Availability& availability;
  const WorkMeter& work;
  ScriptTurns& script_turns;
  Statistics& statistics;
  ClientLifecycle& lifecycle;
  GrantsInFlight& grants;
  protocol::RequestLimits limits = protocol::kDefaultLimits;
  RequestWindow window = {};  // scratch space
};

// Owns its client. Independent of sockets: the transport provides bytes and takes the output.
//
// While a request waits, no later one is executed. After QUIT or a protocol error, the transport
// must close the connection once the output is sent (ClientOutput::is_closing). Loop-confined.
class RequestPipeline {
 public:
  RequestPipeline(PipelineParts& parts, Transport& transport, ClientAddress address,
                  engine::TimeMs now);

  Client& client() { return client_; }
  const Client& client() const { return client_; }

  // Executes whole requests from the front of `input`, at most `requests_max`, and returns the
  // number of bytes that it has finished with. The caller must pass the rest again, followed by new
  // bytes. Stops early when a request waits, the connection must close, or the output becomes long.
  std::size_t Consume(std::string_view input, std::size_t requests_max, engine::TimeMs now);
  // Whether the last Consume stopped at `requests_max`, because a request waits, or because of long
  // output, so that requests may be left.
  bool has_more_to_execute() const { return has_more_; }
  // Whether it stopped before a request that runs a script and must wait for its turn.
  bool awaits_script_turn() const { return awaits_script_turn_; }

  // Sends the error and closes the connection after it.
  void EndWith(protocol::ErrorCode code, std::string_view text) {
    client_.EndWith(code, text, parts_.statistics.commands);
  }
  // Called when the connection has ended. Idempotent; must be called before the pipeline is
  // destroyed.
  void Detach(engine::TimeMs now) { parts_.lifecycle.Detach(client_, now); }

 private:
  void ReadAhead(std::string_view input, std::size_t requests_max);
  // Returns how many requests were executed: all, unless one of them waits or closes the
  // connection, or the next one must wait for the turn of its script.
  std::size_t ExecuteAhead(std::uint64_t work_max, engine::TimeMs now);
  bool IsStopped() const {
    return client_.wait.is_waiting() || client_.output.is_closing() || awaits_script_turn_;
  }
  bool HasDoneMuch(std::uint64_t work_max) const;
  void RefuseInput(const protocol::WireError& error);

  PipelineParts& parts_;
  Client client_;
  protocol::RequestParser parser_;
  bool has_more_ = false;
  bool awaits_script_turn_ = false;
};

}  // namespace fairlock::command
