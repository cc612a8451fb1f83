// Commands that take, renew and release several keys as if they were one key.

#include <algorithm>
#include <array>
#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <string>

#include "server/command/handlers/command_families.h"
#include "server/command/handlers/lock_answer.h"
#include "server/command/handlers/lock_options.h"
#include "server/command/handlers/value_access.h"
#include "server/command/server_parts.h"
#include "server/command/table/argument_reader.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using MlockKeys = boost::container::static_vector<engine::KeyName, engine::kMlockKeysMax>;

MlockKeys ReadKeys(const Invocation& call, ArgumentReader& arguments) {
  const auto count = arguments.Integer("numkeys", 1, engine::kMlockKeysMax);
  MlockKeys keys;
  for (std::int64_t i = 0; i < count && !arguments.failed(); ++i) {
    const engine::KeyName key =
        arguments.Key(i == 0 ? call.key : engine::KeyName{.db = call.key.db});
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) {
      arguments.Fail("key: " + Quoted(key.bytes) +
                     " is given twice; each key may be given only once");
    }
    keys.push_back(key);
  }
  return keys;
}

void Mlock(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  const MlockKeys keys = ReadKeys(call, arguments);
  engine::MlockRequest request;
  request.keys = keys;
  request.each.owner = arguments.Owner("owner");
  const bool is_explained = ReadLockOptions(call, arguments, request.each);
  if (!arguments.Finish(call.reply)) return;
  if (!CheckNotify(call, keys.front().bytes, request.each)) return;
  for (const engine::KeyName& key : keys) {
    if (RefusesValue(call, key)) return;
  }
  const engine::LockResult result =
      call.server.locks.engine().Mlock(request, call.client, call.server.locks.StepAt(call.now));
  AnswerLock(call,
             {request.keys, request.each.owner, is_explained, request.each.notify.has_value()},
             result);
}

void Mrenew(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  const MlockKeys keys = ReadKeys(call, arguments);
  engine::MrenewRequest request;
  request.keys = keys;
  request.each.owner = arguments.Owner("owner");
  ReadRenewOptions(arguments, request.each);
  if (!arguments.Finish(call.reply)) return;
  const bool are_renewed =
      call.server.locks.engine().Mrenew(request, call.server.locks.StepAt(call.now));
  call.reply.Integer(are_renewed ? 1 : 0);
}

void Munlock(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  const MlockKeys keys = ReadKeys(call, arguments);
  engine::MunlockRequest request;
  request.keys = keys;
  request.each.owner = arguments.Owner("owner");
  request.each.token = ReadTokenOption(arguments);
  if (!arguments.Finish(call.reply)) return;
  const std::size_t released =
      call.server.locks.engine().Munlock(request, call.server.locks.StepAt(call.now));
  call.reply.Integer(static_cast<std::int64_t>(released));
}

constexpr KeyPositions kMlockKeys = {.first = 2, .last = 0, .step = 1, .is_counted = true};

constexpr auto kMlockCommands = std::to_array<CommandSpec>({
    {"MLOCK", Mlock, -4, kWrite | kBlocking | kFast | kTakesLock, kMlockKeys, "lock",
     "numkeys key [key ...] owner [EX seconds | PX milliseconds] [WAIT duration | WAIT FOREVER] "
     "[KEEP duration] [LIMIT n | SHARED] [SESSION [GRACE duration]] [MINHOLD duration] [NEW] "
     "[MAXWAITERS n [REPLACE]] [NOTIFY channel] [META blob] [LABEL name] [EXPLAIN]",
     "Takes all of the locks or none, or waits in all of their queues (WAIT 30s); replies with one "
     "token, or nil",
     "O(keys)"},
    {"MRENEW", Mrenew, -4, kWrite | kFast, kMlockKeys, "lock",
     "numkeys key [key ...] owner [EX seconds | PX milliseconds] [TOKEN token] [GT]",
     "Renews all leases, which then last for the given time from now, or with GT at least for that "
     "time; 0, with nothing changed, if the owner does not hold all of the locks",
     "O(keys)"},
    {"MUNLOCK", Munlock, -4, kWrite | kFast, kMlockKeys, "lock",
     "numkeys key [key ...] owner [TOKEN token]",
     "Releases whichever of the locks the owner holds; replies with the number released",
     "O(keys)"},
});

}  // namespace

std::span<const CommandSpec> MlockCommands() { return kMlockCommands; }

}  // namespace fairlock::command
