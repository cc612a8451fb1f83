#include "server/command/handlers/lock_options.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/command/cluster/slots.h"
#include "server/command/server_parts.h"
#include "server/command/table/lock_option_words.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

enum LockOption : std::uint32_t {
  kSeconds = 1U << 0,
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
  kMilliseconds = 1U << 14,
  kGreater = 1U << 15,
};

// Words that people often write as options, but that LOCK does not accept.
struct Habit {
  std::string_view word;
  std::string_view hint;
};

constexpr auto kHabits = std::to_array<Habit>({
    {"NX",
     "LOCK never takes a lock that another owner holds: it returns nil, or waits if WAIT 30s is "
     "given; NEW also refuses a repeated LOCK by the holder"},
    {"XX", "RENEW renews only what the owner holds"},
    {"KEEPTTL", "a LOCK by the holder without EX or PX never shortens the lease"},
    {"GET", "EXPLAIN and LOCKINFO say who holds the lock"},
    {"EXAT", "the lease is a length of time: EX 30 or PX 30000"},
    {"PXAT", "the lease is a length of time: EX 30 or PX 30000"},
    {"TTL", "give the lease as EX 30 or PX 30000"},
    {"LEASE", "give the lease as EX 30 or PX 30000"},
    {"EXPIRE", "give the lease as EX 30 or PX 30000"},
    {"TIMEOUT", "use WAIT 30s to set how long LOCK waits"},
    {"BLOCK", "use WAIT 30s to set how long LOCK waits"},
    {"NOWAIT", "LOCK without WAIT does not wait"},
    {"TOKEN", "LOCK returns a new token; UNLOCK, RENEW and TRANSFER take TOKEN"},
    {"GRACE", "GRACE needs SESSION right before it: SESSION GRACE 30s"},
    {"REPLACE", "REPLACE needs MAXWAITERS right before it: MAXWAITERS 1 REPLACE"},
    {"FOREVER", "FOREVER needs WAIT right before it: WAIT FOREVER"},
});

bool IsLockOption(std::string_view word) {
  return std::ranges::any_of(kLockOptionWords, [&](const LockOptionWord& option) {
    return option.stands_alone && EqualsIgnoreCase(word, option.word);
  });
}

// Returns "EX, PX, ... or EXPLAIN".
std::string AllLockOptions() {
  std::string text;
  for (const LockOptionWord& option : kLockOptionWords) {
    if (!option.stands_alone) continue;
    const bool is_last = &option == &kLockOptionWords.back();
    if (!text.empty()) text.append(is_last ? " or " : ", ");
    text.append(option.word);
  }
  return text;
}

std::string HintFor(std::string_view word, std::string_view owner) {
  for (const Habit& habit : kHabits) {
    if (EqualsIgnoreCase(word, habit.word)) return std::string(habit.hint);
  }
  if (IsLockOption(owner)) {
    return Quoted(owner) + " is read as the owner, which comes before the options";
  }
  if (!word.empty() && word.front() >= '0' && word.front() <= '9') {
    return "a value follows the name of its option: EX 30 or PX 30000 for the lease, WAIT 30s to "
           "wait";
  }
  return {};
}

bool TakeLease(ArgumentReader& arguments, std::uint32_t& seen,
               std::optional<engine::DurationMs>& lease_ms) {
  if (arguments.TakeOnce("PX", kMilliseconds, seen)) {
    lease_ms = arguments.LeaseMilliseconds();
  } else if (arguments.TakeOnce("EX", kSeconds, seen)) {
    lease_ms = arguments.LeaseSeconds();
  } else {
    return false;
  }
  constexpr std::uint32_t kBoth = kSeconds | kMilliseconds;
  if ((seen & kBoth) == kBoth) arguments.Fail("syntax error: EX and PX are mutually exclusive");
  return true;
}

bool TakeToken(ArgumentReader& arguments, std::uint32_t& seen,
               std::optional<engine::Token>& token) {
  if (!arguments.TakeOnce("TOKEN", kToken, seen)) return false;
  token = arguments.Token("TOKEN");
  return true;
}

// Takes an option that says how the request waits in the queue.
bool TakeQueueOption(ArgumentReader& arguments, std::uint32_t& seen,
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

// Takes an option that describes the requested hold.
bool TakeHoldOption(ArgumentReader& arguments, std::uint32_t& seen, engine::LockRequest& request) {
  if (TakeLease(arguments, seen, request.lease_ms)) return true;
  if (arguments.TakeOnce("LIMIT", kLimit, seen)) {
    request.limit = static_cast<std::uint32_t>(arguments.Integer("LIMIT", 1, engine::kLimitMax));
  } else if (arguments.TakeOnce("SHARED", kShared, seen)) {
    request.is_shared = true;
  } else if (arguments.TakeOnce("SESSION", kSession, seen)) {
    request.terms.session_grace_ms =
        arguments.Take("GRACE") ? arguments.DurationUpTo("GRACE", engine::kLeaseMsMax) : 0;
  } else if (arguments.TakeOnce("MINHOLD", kMinHold, seen)) {
    request.terms.min_hold_ms = arguments.DurationUpTo("MINHOLD", engine::kLeaseMsMax);
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

bool ReadLockOptions(const Invocation& call, ArgumentReader& arguments,
                     engine::LockRequest& request) {
  const engine::EngineOptions& limits = call.server.locks.engine().options();
  std::uint32_t seen = 0;
  while (arguments.has_more()) {
    if (TakeHoldOption(arguments, seen, request)) continue;
    if (TakeQueueOption(arguments, seen, limits, request)) continue;
    if (arguments.TakeOnce("NEW", kNew, seen)) continue;
    if (arguments.TakeOnce("EXPLAIN", kExplain, seen)) continue;
    arguments.FailUnknownOption(AllLockOptions(), HintFor(arguments.Peek(), request.owner));
  }
  if ((seen & kShared) != 0 && (seen & kLimit) != 0) {
    arguments.Fail("syntax error: SHARED and LIMIT are mutually exclusive");
  }
  if (!arguments.failed() && (seen & kSeconds) != 0 && arguments.bare_duration().ms > 0) {
    call.server.unit_warnings.Warn(call.client.profile, call.arguments[0],
                                   arguments.bare_duration());
  }
  request.only_new = (seen & kNew) != 0;
  return (seen & kExplain) != 0;
}

void ReadRenewOptions(ArgumentReader& arguments, engine::RenewRequest& request) {
  std::uint32_t seen = 0;
  while (arguments.has_more()) {
    if (TakeLease(arguments, seen, request.lease_ms)) continue;
    if (TakeToken(arguments, seen, request.token)) continue;
    if (arguments.TakeOnce("GT", kGreater, seen)) continue;
    arguments.FailUnknownOption("EX, PX, TOKEN or GT");
  }
  request.only_lengthens = (seen & kGreater) != 0;
}

void ReadTransferOptions(ArgumentReader& arguments, engine::TransferRequest& request) {
  std::uint32_t seen = 0;
  while (arguments.has_more()) {
    if (TakeLease(arguments, seen, request.lease_ms)) continue;
    if (TakeToken(arguments, seen, request.token)) continue;
    arguments.FailUnknownOption("EX, PX or TOKEN");
  }
}

std::optional<engine::Token> ReadTokenOption(ArgumentReader& arguments) {
  std::optional<engine::Token> token;
  std::uint32_t seen = 0;
  while (arguments.has_more()) {
    if (!TakeToken(arguments, seen, token)) arguments.FailUnknownOption("TOKEN");
  }
  return token;
}

using protocol::ErrorCode;

bool CheckNotify(Invocation& call, std::string_view key, const engine::LockRequest& request) {
  if (!request.notify) return true;
  const std::string_view channel = *request.notify;
  std::string problem;
  if (call.server.delivery.is_in_step()) {
    problem = "is not possible inside EXEC or a script; send the LOCK by itself";
  } else if (channel.empty() || channel.starts_with(kOwnChannelPrefix)) {
    problem =
        "channel " + Quoted(channel, 128) +
        " is empty or begins with '__', which is reserved for the server; choose another name";
  } else if (call.server.routing.is_on() && SlotOf(channel) != SlotOf(key)) {
    call.reply.Error(ErrorCode::kCrossSlot, "NOTIFY: channel " + Quoted(channel, 128) +
                                                " does not have the key's hash slot; use a name "
                                                "with the key's hash tag, like {order:42}done");
    return false;
  } else if (call.server.channels.CountNotified(channel) == 0) {
    problem = "channel " + Quoted(channel, 128) + " has no subscriber; " +
              (call.server.routing.is_on() ? "SSUBSCRIBE to it first, or SUBSCRIBE at this node"
                                           : "SUBSCRIBE to it first, on any connection");
  } else {
    return true;
  }
  call.reply.Error(ErrorCode::kErr, "NOTIFY: " + problem);
  return false;
}

}  // namespace fairlock::command
