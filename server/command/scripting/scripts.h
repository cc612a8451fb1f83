// Runs the scripts of clients on the command table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "protocol/reply_writer.h"
#include "server/command/table/invocation.h"
#include "server/engine/api/types.h"
#include "server/script/host.h"
#include "server/script/interpreter.h"

namespace fairlock::command {

class Client;
class Availability;
class EffectDelivery;
class Executor;
class KeyRouting;
class Locks;
class RequestPrefetch;
struct Environment;
struct Invocation;
struct Statistics;

// A script acts in the name and with the rights of its client, as one step: hand-overs, replies to
// other clients and messages come only after the script has ended. Loop-confined.
class Scripts final : private script::Host {
 public:
  struct Parts {
    Executor& executor;
    const RequestPrefetch& prefetch;
    Availability& availability;
    EffectDelivery& delivery;
    Locks& locks;
    KeyRouting& routing;
    Statistics& statistics;
    const Environment& environment;  // for its clock and its log
  };

  explicit Scripts(const Parts& parts) : parts_(parts) {}

  struct RunOptions {
    std::span<const std::string_view> keys;
    std::span<const std::string_view> arguments;
    bool is_read_only;  // commands that write are refused
  };

  void BeginTransaction() { used_ns_ = 0; }
  // Finds or compiles the script. All scripts of one transaction share script_time: once they have
  // used it up, none is compiled or run.
  script::LoadResult Load(std::string_view text);
  // Executes the script and replies. REQUIRES: the call did not come from a script.
  void Run(script::Script& script, const RunOptions& options, Invocation& call);

  // Whether earlier scripts have left garbage that is to be collected before the next one runs.
  bool has_garbage() const { return interpreter_.has_garbage(); }
  // Collects it, or as much as can be collected until that time of the monotonic clock.
  void CollectGarbage(std::uint64_t until_ns) { interpreter_.CollectGarbage(until_ns, *this); }

  script::Interpreter& interpreter() { return interpreter_; }

 private:
  // The time that scripts of this transaction have used; 0 outside a transaction.
  std::uint64_t UsedNs();
  bool IsTimeUsedUp();
  // Whether the script requests one lock as SET NX does, and that request may take a place in the
  // queue.
  bool TakesPlace(const script::Script& script, const RunOptions& options) const;
  bool AcquireByValue(const RunOptions& options, protocol::RespVersion version);
  void Execute(const script::CommandCall& call, std::string& reply) override;
  std::uint64_t NowNs() override;
  std::uint64_t ProcessorNs() override;
  void Log(script::LogLevel level, std::string_view text) override;
  void CountError(std::string_view text) override;

  const Parts parts_;
  script::Interpreter interpreter_;
  Client* client_ = nullptr;  // the client whose script is running
  engine::TimeMs now_ = 0;
  std::uint64_t used_ns_ = 0;
  RequestAhead request_;  // scratch space for Execute
};

}  // namespace fairlock::command
