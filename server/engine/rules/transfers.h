// TRANSFER: the hold passes to another owner under a new token, with the rest of its lease. The
// place of the new owner, if any, ends; its waiting request is answered with the new token. After
// notice by BREAK, the hold keeps its end, and an event informs its new owner.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/engine/api/effects.h"
#include "server/engine/api/requests.h"
#include "server/engine/rules/rule.h"

namespace fairlock::engine {

class Transfers : Rule {
 public:
  using Rule::Rule;

  // The new owner of a hold, and the terms of its lease.
  struct Succession {
    std::string_view new_owner;
    TimeMs end = kNever;      // the end of the lease
    DurationMs lease_ms = 0;  // the recorded length; 0: it never ends
    bool is_redis_way = false;
    bool keeps_terms = true;  // keeps mode, META and MINHOLD; otherwise it becomes a plain hold
    ClientRef client = kUnknownClient;
  };
  TransferResult Transfer(const TransferRequest& request, Step step);
  // The lock is not freed. REQUIRES: the new owner does not hold it.
  Token HandOver(std::uint64_t hash, LockEntry& lock, Hold& hold, const Succession& terms,
                 Step step);

 private:
  Claim& ClaimForHeir(LockEntry& lock, std::string_view new_owner, Step step);
  void InheritOptions(Claim& heir, Claim& old, bool keeps_terms);
};

}  // namespace fairlock::engine
