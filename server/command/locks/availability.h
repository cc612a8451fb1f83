// What the server refuses at present: while it loads, when its disk is nearly full or has failed,
// and while memory is short.
#pragma once

#include <cstdint>

#include "protocol/reply_writer.h"
#include "server/command/environment/environment.h"
#include "server/command/environment/memory_bound.h"
#include "server/engine/api/types.h"
#include "server/engine/lock_engine.h"

namespace fairlock::command {

// What the server can do at present.
enum class Service : std::uint8_t {
  kFull,
  kLoading,       // locks are read from the disk
  kShortOfSpace,  // the disk is nearly full: new locks are refused
  kClusterDown,   // this node does not lead, or cannot be sure that it does
  kFailed         // the disk has failed: all changes are refused
};

// Loop-confined.
class Availability {
 public:
  Availability(engine::LockEngine& engine, ResourceMeter& resources, CommandLog& log);

  Service service() const { return service_; }
  void set_service(Service service);
  // 0: no bound.
  void BoundMemory(std::uint64_t bytes_max, engine::TimeMs now);
  const MemoryBound& memory() const { return memory_; }
  // Called before requests that may take memory are executed.
  void LookAtMemory(engine::TimeMs now) {
    if (memory_.is_on() && memory_.Look(now)) ReactToMemory();
  }

  // Returns true after sending an error, if commands with these flags are refused now.
  bool RefusesNow(std::uint32_t flags, protocol::ReplyWriter& reply) const;
  // Like RefusesNow, but for commands to be executed later in a transaction: also refuses those
  // that may take locks.
  bool RefusesQueued(std::uint32_t flags, protocol::ReplyWriter& reply) const;
  // Whether new locks are accepted; if not, RefuseLock sends the error that says why.
  bool takes_locks() const { return service_ == Service::kFull && !memory_.is_short(); }
  void RefuseLock(protocol::ReplyWriter& reply) const;
  void RefuseForMemory(protocol::ReplyWriter& reply) const;

 private:
  void ReactToMemory();
  void ChooseRefusedFlags();

  engine::LockEngine& engine_;
  CommandLog& log_;
  MemoryBound memory_;
  Service service_ = Service::kFull;
  std::uint32_t refused_flags_ = 0;  // of commands refused by service level or memory bound
};

}  // namespace fairlock::command
