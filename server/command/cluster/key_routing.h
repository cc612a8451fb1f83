// Decides, in a fleet of several partitions, whether this node serves the keys of a request.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/arguments.h"
#include "protocol/reply_writer.h"
#include "server/command/client/client.h"
#include "server/command/environment/environment.h"
#include "server/command/locks/availability.h"
#include "server/command/table/command_table.h"
#include "server/command/table/invocation.h"

namespace fairlock::command {

// Off, it costs one comparison per request: a single server, and a fleet of the dialect `plain`,
// serve every key. Loop-confined.
class KeyRouting {
 public:
  // Both must outlive this object.
  KeyRouting(const Environment& environment, const Availability& availability)
      : environment_(environment), availability_(availability) {}

  // Turns the routing on: this node serves the keys of that partition. REQUIRES: the server is a
  // node of a fleet.
  void Serve(std::uint32_t partition, std::uint32_t partitions);
  bool is_on() const { return partitions_ != 0; }

  // If this node does not serve the request's keys, sends MOVED, CROSSSLOT, CLUSTERDOWN or, in a
  // script, ERR, and returns true. REQUIRES: is_on(), and the request fits the row's arity.
  bool Refuses(const CommandSpec& spec, const protocol::Arguments& arguments,
               const ClientProfile& profile, Origin origin, protocol::ReplyWriter& reply) const;
  // The slot of the request's first key or shard channel; nullopt: it has none.
  static std::optional<std::uint16_t> SlotOfRequest(const CommandSpec& spec,
                                                    const protocol::Arguments& arguments);
  // Refuses a request whose keys do not all have the same slot.
  static void RefuseSlots(protocol::ReplyWriter& reply);

  // While a script runs, it may use only keys with this slot; nullopt: no keys. REQUIRES: is_on().
  void BeginScript(std::optional<std::uint16_t> slot) { script_slot_ = slot; }

 private:
  bool IsElsewhere(std::uint16_t slot, const ClientProfile& profile,
                   protocol::ReplyWriter& reply) const;

  const Environment& environment_;
  const Availability& availability_;
  std::uint32_t partition_ = 0;
  std::uint32_t partitions_ = 0;  // 0: routing is off
  std::optional<std::uint16_t> script_slot_;
};

}  // namespace fairlock::command
