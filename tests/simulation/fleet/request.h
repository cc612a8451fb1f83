// A client's request and what became of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tests/simulation/fleet/virtual_time.h"

namespace fairlock::fleet {

using Token = std::uint64_t;

enum class Command : std::uint8_t {
  kLock,        // LOCK key owner PX lease, with or without WAIT FOREVER or NOTIFY news
  kUnlock,      // UNLOCK key owner
  kRenew,       // RENEW key owner PX lease TOKEN token
  kLocked,      // LOCKED key
  kIsLockedBy,  // LOCKED key about
  kCheck,       // CHECK key token, with one of `about`'s tokens
  kPosition,    // POSITION key about
  kSubscribe,   // SUBSCRIBE news
};

// Which run of which node executed a request, which partition it serves, and when it had loaded the
// locks.
struct ServedBy {
  int run = 0;         // 0 if there is none
  int partition = -1;  // -1 if it does not know yet
  TimeUs loaded_at = 0;
};

struct Request {
  std::uint64_t number = 0;
  Command command = Command::kLock;
  int owner = 0;  // the client that sends it
  int about = 0;  // the owner that a read asks about
  int key = 0;
  int partition = 0;  // the partition of the key
  TimeUs lease = 0;
  bool waits = false;
  bool notifies = false;
  Token token = 0;
  TimeUs sent = 0;

  // What became of it, which the client does not know. A request that its client gave up is still
  // delivered, and may be executed.
  enum class Fate : std::uint8_t { kUnderWay, kExecuted, kDropped };
  Fate fate = Fate::kUnderWay;
  TimeUs decided_at = 0;  // set with kExecuted
  ServedBy by = {};       // set with kExecuted
};

struct Reply {
  enum class Kind : std::uint8_t { kNumber, kNil, kError, kMessage };
  Kind kind = Kind::kNil;
  std::int64_t number = 0;
  std::string text = {};
  TimeUs decided = 0;  // when the server wrote it
  TimeUs left = 0;     // when it left the server
};

std::string TextOf(const Request& request);
std::string TextOf(const Reply& reply);

}  // namespace fairlock::fleet
