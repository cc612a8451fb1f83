// Executes requests as the command table says.
#pragma once

#include <cstddef>
#include <string>

#include "server/command/client/client.h"
#include "server/command/delivery/effect_delivery.h"
#include "server/command/environment/clock.h"
#include "server/command/execution/admission.h"
#include "server/command/execution/audit.h"
#include "server/command/pubsub/monitors.h"
#include "server/command/statistics/statistics.h"
#include "server/command/table/command_table.h"
#include "server/command/table/invocation.h"
#include "server/command/transactions/transactions.h"
#include "server/command/values/values.h"

namespace fairlock::command {

// Loop-confined.
class Executor {
 public:
  struct Parts {
    const CommandTable& table;
    const Admission& admission;
    const Transactions& transactions;
    const KeyRouting& routing;
    Availability& availability;
    Statistics& statistics;
    Monitors& monitors;
    EffectDelivery& delivery;
    const Values& values;
    const Locks& locks;
    const Clock& clock;
    Audit& audit;
  };

  // `server` is passed to the handlers.
  Executor(ServerParts& server, const Parts& parts) : server_(server), parts_(parts) {}

  // Executes one request of the client, and writes each reply into the output of the client that it
  // is for. REQUIRES: `request` is prepared.
  void Execute(Client& client, const RequestAhead& request, engine::TimeMs now);
  // Like Execute, but for a command that a script calls within its step. Appends the reply in
  // RESP2. REQUIRES: `request` is prepared.
  void ExecuteForScript(Client& client, const RequestAhead& request, bool is_read_only,
                        engine::TimeMs now, std::string& reply);
  // Executes one request of a step; `row` is the row of its command.
  void RunInStep(std::size_t row, Invocation& invocation, Origin origin);
  // Counts a request that is not executed, and logs it, unless another node serves it. `reply` ends
  // with the error; `row` may be CommandTable::kNone.
  void NoteRejected(std::size_t row, const Client& client, const protocol::Arguments& arguments,
                    const protocol::ReplyWriter& reply, Origin origin, engine::TimeMs now);

 private:
  bool Collect(Client& client, std::size_t row, const protocol::Arguments& arguments,
               protocol::ReplyWriter& reply) const;
  void Run(std::size_t row, Invocation& invocation, Origin origin);
  void RunAudited(const CommandSpec& spec, Invocation& invocation, Origin origin);
  void CountIfFailed(std::size_t row, const Invocation& invocation, Origin origin);
  void ShowToMonitors(const Invocation& invocation, const CommandSpec& spec, Origin origin);

  ServerParts& server_;
  const Parts parts_;
};

}  // namespace fairlock::command
