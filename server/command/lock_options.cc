#include "server/command/lock_options.h"

#include <cstdint>

namespace fairlock::command {

namespace {

enum LockOption : std::uint32_t {
  kLease = 1U << 0,
  kWait = 1U << 1,
  kLimit = 1U << 2,
  kNew = 1U << 3,
  kMeta = 1U << 4,
  kLabel = 1U << 5,
  kExplain = 1U << 6,
  kToken = 1U << 7,
  kKeep = 1U << 8,
  kShared = 1U << 9,
  kSession = 1U << 10,
  kMinHold = 1U << 11,
  kMaxWaiters = 1U << 12,
  kNotify = 1U << 13,
};

bool TakeLease(ArgumentReader& arguments, std::uint32_t& seen,
               std::optional<engine::DurationMs>& lease_ms) {
  if (arguments.TakeOnce("PX", kLease, seen)) {
    lease_ms = arguments.LeaseMilliseconds();
    return true;
  }
  if (arguments.TakeOnce("EX", kLease, seen)) {
    lease_ms = arguments.LeaseSeconds();
    return true;
  }
  return false;
}

bool TakeToken(ArgumentReader& arguments, std::uint32_t& seen,
               std::optional<engine::Token>& token) {
  if (!arguments.TakeOnce("TOKEN", kToken, seen)) return false;
  token = arguments.Token("TOKEN");
  return true;
}

// The options that say how the request stands in line.
bool TakeLineOption(ArgumentReader& arguments, std::uint32_t& seen,
                    const engine::EngineOptions& limits, engine::LockRequest& request) {
  if (arguments.TakeOnce("WAIT", kWait, seen)) {
    request.wait_ms = arguments.DurationOrForever("WAIT");
  } else if (arguments.TakeOnce("KEEP", kKeep, seen)) {
    request.keep_ms = arguments.DurationUpTo("KEEP", limits.keep_ms_max, "max_keep");
  } else if (arguments.TakeOnce("MAXWAITERS", kMaxWaiters, seen)) {
    request.waiters_max =
        static_cast<std::uint32_t>(arguments.Integer("MAXWAITERS", 0, engine::kLimitMax));
    request.replaces_newest = arguments.Take("REPLACE");
  } else if (arguments.TakeOnce("NOTIFY", kNotify, seen)) {
    request.notify = arguments.Next("NOTIFY");
  } else {
    return false;
  }
  return true;
}

// The options that say what kind of hold is asked for.
bool TakeHoldOption(ArgumentReader& arguments, std::uint32_t& seen, engine::LockRequest& request) {
  if (TakeLease(arguments, seen, request.lease_ms)) return true;
  if (arguments.TakeOnce("LIMIT", kLimit, seen)) {
    request.limit = static_cast<std::uint32_t>(arguments.Integer("LIMIT", 1, engine::kLimitMax));
  } else if (arguments.TakeOnce("SHARED", kShared, seen)) {
    request.is_shared = true;
  } else if (arguments.TakeOnce("SESSION", kSession, seen)) {
    request.session_grace_ms =
        arguments.Take("GRACE") ? arguments.DurationUpTo("GRACE", engine::kLeaseMsMax, "365 days")
                                : 0;
  } else if (arguments.TakeOnce("MINHOLD", kMinHold, seen)) {
    request.min_hold_ms = arguments.DurationUpTo("MINHOLD", engine::kLeaseMsMax, "365 days");
  } else if (arguments.TakeOnce("META", kMeta, seen)) {
    request.meta = arguments.Meta();
  } else if (arguments.TakeOnce("LABEL", kLabel, seen)) {
    request.label = arguments.Label();
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool ReadLockOptions(ArgumentReader& arguments, const engine::EngineOptions& limits,
                     engine::LockRequest& request) {
  std::uint32_t seen = 0;
  while (arguments.has_more()) {
    if (TakeHoldOption(arguments, seen, request)) continue;
    if (TakeLineOption(arguments, seen, limits, request)) continue;
    if (arguments.TakeOnce("NEW", kNew, seen)) continue;
    if (arguments.TakeOnce("EXPLAIN", kExplain, seen)) continue;
    arguments.FailUnknownOption(
        "EX, PX, WAIT, KEEP, LIMIT, SHARED, SESSION, MINHOLD, NEW, MAXWAITERS, NOTIFY, META, "
        "LABEL or EXPLAIN");
  }
  if ((seen & kShared) != 0 && (seen & kLimit) != 0) {
    arguments.Fail("syntax error: SHARED and LIMIT exclude each other");
  }
  request.only_new = (seen & kNew) != 0;
  return (seen & kExplain) != 0;
}

RenewOptions ReadRenewOptions(ArgumentReader& arguments) {
  RenewOptions options;
  std::uint32_t seen = 0;
  while (arguments.has_more()) {
    if (TakeLease(arguments, seen, options.lease_ms)) continue;
    if (TakeToken(arguments, seen, options.token)) continue;
    arguments.FailUnknownOption("EX, PX or TOKEN");
  }
  return options;
}

std::optional<engine::Token> ReadTokenOption(ArgumentReader& arguments) {
  if (!arguments.has_more()) return std::nullopt;
  std::optional<engine::Token> token;
  std::uint32_t seen = 0;
  TakeToken(arguments, seen, token);
  return token;
}

}  // namespace fairlock::command
