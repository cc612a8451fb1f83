// Finds the command of a request, and refuses requests that must not be executed.
#pragma once

#include <cstddef>

#include "protocol/arguments.h"
#include "protocol/reply_writer.h"
#include "server/command/auth/access_control.h"
#include "server/command/client/client.h"
#include "server/command/cluster/key_routing.h"
#include "server/command/locks/availability.h"
#include "server/command/table/command_table.h"
#include "server/command/table/invocation.h"

namespace fairlock::command {

struct FoundCommand {
  std::size_t row = CommandTable::kNone;  // index in the command table
  bool is_accepted = false;               // false: the error has been sent
};

// Loop-confined.
class Admission {
 public:
  Admission(const CommandTable& table, const AccessControl& access, const KeyRouting& routing,
            const Availability& availability)
      : table_(table), access_(access), routing_(routing), availability_(availability) {}

  FoundCommand Find(const Client& client, const RequestAhead& request, Origin origin,
                    protocol::ReplyWriter& reply) const;
  // Checks a request again that was admitted earlier. Returns false if the client's user may no
  // longer make it; the error has then been sent.
  bool MayStill(const Client& client, std::size_t row, const protocol::Arguments& arguments,
                protocol::ReplyWriter& reply) const;

 private:
  bool IsRefused(const Client& client, const CommandSpec& spec,
                 const protocol::Arguments& arguments, Origin origin,
                 protocol::ReplyWriter& reply) const;

  const CommandTable& table_;
  const AccessControl& access_;
  const KeyRouting& routing_;
  const Availability& availability_;
};

}  // namespace fairlock::command
