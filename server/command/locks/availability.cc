#include "server/command/locks/availability.h"

#include <string>
#include <utility>

#include "server/command/table/command_table.h"

namespace fairlock::command {

using protocol::ErrorCode;

namespace {

// Returns the flags of the commands that are refused at this level of service.
constexpr std::uint32_t FlagsWithout(Service service) {
  switch (service) {
    case Service::kWorking:
    case Service::kShortOfSpace:  // the engine itself refuses new locks and places
      return 0;
    case Service::kLoading:
      return kWrite | kReadOnly | kOnlyWhenReady;
    case Service::kClusterDown:
      return kWrite | kReadOnly;
    case Service::kFailed:
      return kWrite;
  }
  return 0;
}

void RefuseForService(Service service, protocol::ReplyWriter& reply) {
  switch (service) {
    case Service::kWorking:
      break;
    case Service::kLoading:
      return reply.Error(ErrorCode::kLoading, "fairlock is loading its locks; try again soon");
    case Service::kClusterDown:
      return reply.Error(ErrorCode::kClusterDown,
                         "this node does not lead, or has lost etcd; try again in a moment");
    case Service::kShortOfSpace:
      return reply.Error(ErrorCode::kStorage,
                         "the disk has less free space than min_free_disk: locks can be released "
                         "and renewed, but not taken");
    case Service::kFailed:
      return reply.Error(ErrorCode::kStorage,
                         "writing to the disk has failed: no changes are accepted until the server "
                         "has been restarted");
  }
}

}  // namespace

Availability::Availability(engine::LockEngine& engine, ResourceMeter& resources, CommandLog& log)
    : engine_(engine), log_(log), memory_(resources) {}

void Availability::set_service(Service service) {
  service_ = service;
  engine_.bounds().set_short_of_space(service == Service::kShortOfSpace);
  ChooseRefusedFlags();
}

void Availability::ChooseRefusedFlags() {
  refused_flags_ = FlagsWithout(service_) | (lacks_memory() ? std::uint32_t{kGrows} : 0U);
}

void Availability::EndStep() {
  if (--step_depth_ == 0 && are_bounds_lifted_) LiftBounds(false);
}

void Availability::NoteChange() {
  if (is_in_step() && !are_bounds_lifted_) LiftBounds(true);
}

void Availability::LiftBounds(bool are_lifted) {
  are_bounds_lifted_ = are_lifted;
  engine_.bounds().set_lifted(are_lifted);
  ChooseRefusedFlags();
}

bool Availability::RefusesNow(std::uint32_t flags, protocol::ReplyWriter& reply) const {
  if ((flags & refused_flags_) == 0) return false;
  if ((flags & FlagsWithout(service_)) != 0) {
    RefuseForService(service_, reply);
  } else {
    RefuseForMemory(reply);
  }
  return true;
}

bool Availability::RefusesQueued(std::uint32_t flags, protocol::ReplyWriter& reply) const {
  if (RefusesNow(flags, reply)) return true;
  if ((flags & kTakesLock) == 0 || takes_locks()) return false;
  RefuseLock(reply);
  return true;
}

void Availability::RefuseForMemory(protocol::ReplyWriter& reply) const {
  reply.Error(ErrorCode::kOom, std::to_string(memory_.used_bytes()) +
                                   " bytes of memory are in use, and max_memory " + "is " +
                                   std::to_string(memory_.bytes_max()) +
                                   ": locks can be renewed and released, but new locks, waits and "
                                   "subscriptions are refused; try again " +
                                   "later, or raise max_memory");
}

void Availability::RefuseLock(protocol::ReplyWriter& reply) const {
  service_ == Service::kWorking ? RefuseForMemory(reply) : RefuseForService(service_, reply);
}

void Availability::BoundMemory(std::uint64_t bytes_max, engine::TimeMs now) {
  if (bytes_max == memory_.bytes_max()) return;
  memory_.set_bytes_max(bytes_max);
  if (memory_.Look(now)) ReactToMemory();
}

void Availability::ReactToMemory() {
  engine_.bounds().set_short_of_memory(memory_.is_short());
  ChooseRefusedFlags();
  log_.LogMemoryShort(memory_.is_short(), memory_.used_bytes(), memory_.bytes_max());
}

void MemoryBound::set_bytes_max(std::uint64_t bytes) {
  bytes_max_ = bytes;
  ask_at_ = 0;
}

bool MemoryBound::Look(engine::TimeMs now) {
  const bool asks_anew = now >= ask_at_;
  if (asks_anew) ask_at_ = now + kLookEveryMs;
  if (is_on()) used_bytes_ = resources_.MemoryInUse(asks_anew);
  const bool is_short = is_on() && used_bytes_ > bytes_max_;
  return std::exchange(is_short_, is_short) != is_short;
}

}  // namespace fairlock::command
