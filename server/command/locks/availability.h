// What the server refuses at the moment: while it loads, when its disk is nearly full or has
// failed, when this node of a fleet does not lead, and while memory is short.
#pragma once

#include <cstdint>

#include "protocol/reply_writer.h"
#include "server/command/environment/environment.h"
#include "server/engine/api/types.h"
#include "server/engine/lock_engine.h"

namespace fairlock::command {

// Measures the memory in use and compares it with a bound. Memory is measured before requests are
// executed, so an idle server never measures it. The allocator is asked at most once every
// kLookEveryMs; in between, allocations and frees of the loop thread are counted. Without a bound
// this costs nothing. Loop-confined.
class MemoryBound {
 public:
  static constexpr engine::DurationMs kLookEveryMs = 10;

  explicit MemoryBound(ResourceMeter& resources) : resources_(resources) {}

  // 0: no bound.
  std::uint64_t bytes_max() const { return bytes_max_; }
  bool is_on() const { return bytes_max_ != 0; }
  // Takes effect at the next Look.
  void set_bytes_max(std::uint64_t bytes);

  // Returns true if memory has just become short, or is no longer short.
  bool Look(engine::TimeMs now);
  bool is_short() const { return is_short_; }
  // As measured by the last Look.
  std::uint64_t used_bytes() const { return used_bytes_; }

 private:
  ResourceMeter& resources_;
  std::uint64_t bytes_max_ = 0;
  std::uint64_t used_bytes_ = 0;
  engine::TimeMs ask_at_ = 0;
  bool is_short_ = false;
};

// What the server can do at the moment.
enum class Service : std::uint8_t {
  kWorking,
  kLoading,       // locks are being read from the disk
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
  // Must be called before requests that may take memory are executed. Does nothing within a step.
  void LookAtMemory(engine::TimeMs now) {
    if (memory_.is_on() && step_depth_ == 0 && memory_.Look(now)) ReactToMemory();
  }

  // Between BeginStep and EndStep, a transaction or a script is executed. Whether there is room is
  // judged before it begins, and applies until it has changed something. From then on nothing is
  // refused for want of room (memory, disk space, and the bounds on locks and values), so that it
  // is not left half done. Steps may be nested, and are then one.
  void BeginStep(engine::TimeMs now) {
    LookAtMemory(now);
    ++step_depth_;
  }
  void EndStep();
  bool is_in_step() const { return step_depth_ > 0; }
  // Called when a command of the step has changed something.
  void NoteChange();
  bool are_bounds_lifted() const { return are_bounds_lifted_; }

  // If commands with these flags are refused now, sends an error and returns true.
  bool RefusesNow(std::uint32_t flags, protocol::ReplyWriter& reply) const;
  // Like RefusesNow, but for commands that a transaction will execute later: also refuses commands
  // that may take locks.
  bool RefusesQueued(std::uint32_t flags, protocol::ReplyWriter& reply) const;
  // Whether new locks are accepted. If not, RefuseLock sends an error that says why.
  bool takes_locks() const {
    return are_bounds_lifted_ || (service_ == Service::kWorking && !memory_.is_short());
  }
  // Whether a request must be refused because memory is short.
  bool lacks_memory() const { return memory_.is_short() && !are_bounds_lifted_; }
  void RefuseLock(protocol::ReplyWriter& reply) const;
  void RefuseForMemory(protocol::ReplyWriter& reply) const;

 private:
  void ReactToMemory();
  void ChooseRefusedFlags();
  void LiftBounds(bool are_lifted);

  engine::LockEngine& engine_;
  CommandLog& log_;
  MemoryBound memory_;
  Service service_ = Service::kWorking;
  // flags of commands that the service level or the memory bound refuses
  std::uint32_t refused_flags_ = 0;
  int step_depth_ = 0;
  bool are_bounds_lifted_ = false;
};

}  // namespace fairlock::command
