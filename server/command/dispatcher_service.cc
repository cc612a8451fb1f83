// What the server leaves out: while it loads, when its disk is nearly full or has failed, and while
// memory is short.

#include <algorithm>
#include <string>

#include "server/command/dispatcher.h"

namespace fairlock::command {

using protocol::ErrorCode;

namespace {

// What connections may have of their own while memory is short: enough to release some locks.
constexpr std::size_t kTransactionBytesWhenShort = 64 * 1024;
constexpr std::size_t kWatchedKeysWhenShort = 64;

// Of the commands that a service leaves out.
constexpr std::uint32_t FlagsWithout(Service service) {
  switch (service) {
    case Service::kFull:
    case Service::kShortOfSpace:  // the engine knows what would be new
      return 0;
    case Service::kLoading:
      return kWrite | kReadOnly | kOnlyWhenReady;
    case Service::kFailed:
      return kWrite;
  }
  return 0;
}

void RefuseForService(Service service, protocol::ReplyWriter& reply) {
  switch (service) {
    case Service::kFull:
      break;
    case Service::kLoading:
      return reply.Error(ErrorCode::kLoading, "fairlock is loading its locks; ask again soon");
    case Service::kShortOfSpace:
      return reply.Error(ErrorCode::kStorage,
                         "the disk has less room than min_free_disk: locks can be released and "
                         "renewed, but not taken");
    case Service::kFailed:
      return reply.Error(ErrorCode::kStorage,
                         "writing to the disk has failed: nothing changes until the server has "
                         "been started again");
  }
}

}  // namespace

void Dispatcher::set_service(Service service) {
  service_ = service;
  engine_.set_short_of_space(service == Service::kShortOfSpace);
  NoteRefusedFlags();
}

void Dispatcher::NoteRefusedFlags() {
  refused_flags_ = FlagsWithout(service_) | (memory_.is_short() ? std::uint32_t{kGrows} : 0U);
}

bool Dispatcher::RefusesNow(std::uint32_t flags, protocol::ReplyWriter& reply) const {
  if ((flags & refused_flags_) == 0) return false;
  if ((flags & FlagsWithout(service_)) != 0) {
    RefuseForService(service_, reply);
  } else {
    RefuseForMemory(reply);
  }
  return true;
}

bool Dispatcher::RefusesQueued(std::uint32_t flags, protocol::ReplyWriter& reply) const {
  if (RefusesNow(flags, reply)) return true;
  if ((flags & kTakesLock) == 0 || takes_locks()) return false;
  RefuseLock(reply);
  return true;
}

void Dispatcher::RefuseForMemory(protocol::ReplyWriter& reply) const {
  reply.Error(ErrorCode::kOom,
              std::to_string(memory_.used_bytes()) +
                  " bytes of memory are in use, and max_memory " + "is " +
                  std::to_string(memory_.bytes_max()) +
                  ": locks can be renewed and released, but nothing new is taken; another try " +
                  "later, or a higher max_memory, would be right");
}

bool Dispatcher::takes_locks() const { return service_ == Service::kFull && !memory_.is_short(); }

void Dispatcher::RefuseLock(protocol::ReplyWriter& reply) const {
  service_ == Service::kFull ? RefuseForMemory(reply) : RefuseForService(service_, reply);
}

void Dispatcher::BoundMemory(std::uint64_t bytes_max, engine::TimeMs now) {
  if (bytes_max == memory_.bytes_max()) return;
  memory_.set_bytes_max(bytes_max);
  if (memory_.Look(now)) NoteMemory();
}

void Dispatcher::NoteMemory() {
  engine_.set_short_of_memory(memory_.is_short());
  NoteRefusedFlags();
  environment_.log.LogMemoryShort(memory_.is_short(), memory_.used_bytes(), memory_.bytes_max());
}

TransactionLimits Dispatcher::TransactionLimitsNow() const {
  TransactionLimits limits = transaction_limits_;
  if (!memory_.is_short()) return limits;
  limits.bytes_max = std::min(limits.bytes_max, kTransactionBytesWhenShort);
  limits.watched_keys_max = std::min(limits.watched_keys_max, kWatchedKeysWhenShort);
  return limits;
}

}  // namespace fairlock::command
