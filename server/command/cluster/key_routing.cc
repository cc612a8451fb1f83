#include "server/command/cluster/key_routing.h"

#include <cassert>
#include <string>

#include "server/command/cluster/slots.h"
#include "server/command/table/command_docs.h"

namespace fairlock::command {

using protocol::ErrorCode;

namespace {

// The keys that determine which node serves the request. HISTORY * asks for the events of all keys
// that this node serves.
KeyRange KeysOfRequest(const CommandSpec& spec, const protocol::Arguments& arguments) {
  const auto request = arguments.views();
  if (spec.name == "WAIT" && IsWaitForReplicas(request)) return {};
  if (spec.name == "HISTORY" && request.size() > 1 && request[1] == "*") return {};
  return KeyRangeOf(spec, request);
}

}  // namespace

void KeyRouting::Serve(std::uint32_t partition, std::uint32_t partitions) {
  assert(partition < partitions && environment_.fleet != nullptr);
  partition_ = partition;
  partitions_ = partitions;
}

std::optional<std::uint16_t> KeyRouting::SlotOfRequest(const CommandSpec& spec,
                                                       const protocol::Arguments& arguments) {
  const KeyRange keys = KeysOfRequest(spec, arguments);
  if (keys.first >= keys.end) return std::nullopt;
  return SlotOf(arguments[keys.first]);
}

void KeyRouting::RefuseSlots(protocol::ReplyWriter& reply) {
  reply.Error(ErrorCode::kCrossSlot, "Keys in request don't hash to the same slot");
}

bool KeyRouting::Refuses(const CommandSpec& spec, const protocol::Arguments& arguments,
                         const ClientProfile& profile, Origin origin,
                         protocol::ReplyWriter& reply) const {
  const KeyRange keys = KeysOfRequest(spec, arguments);
  if (keys.first >= keys.end) return false;
  const std::uint16_t slot = SlotOf(arguments[keys.first]);
  for (std::size_t i = keys.After(keys.first); i < keys.end; i = keys.After(i)) {
    if (SlotOf(arguments[i]) == slot) continue;
    RefuseSlots(reply);
    return true;
  }
  if (origin != Origin::kScript) return IsElsewhere(slot, profile, reply);
  if (slot == script_slot_) return false;
  reply.Error(ErrorCode::kErr,
              "Script attempted to access a key whose slot is not that of its declared keys: pass "
              "all keys in KEYS");
  return true;
}

bool KeyRouting::IsElsewhere(std::uint16_t slot, const ClientProfile& profile,
                             protocol::ReplyWriter& reply) const {
  const std::uint32_t partition = PartitionOf(slot, partitions_);
  const bool is_own = partition == partition_;
  if (is_own && availability_.service() != Service::kClusterDown) return false;
  const auto leader = environment_.fleet->LeaderOf(partition);
  // A leader that is unsure refuses by itself what it cannot answer.
  if (leader && leader->is_this_node) return false;
  if (!leader) {
    if (is_own) return false;
    reply.Error(ErrorCode::kClusterDown, "no node leads partition " + std::to_string(partition) +
                                             ", which has slot " + std::to_string(slot) +
                                             "; try again in a moment");
    return true;
  }
  const bool by_tls = leader->tls_port != 0 && (profile.address.is_tls || leader->port == 0);
  reply.Error(ErrorCode::kMoved, std::to_string(slot) + " " + leader->host + ":" +
                                     std::to_string(by_tls ? leader->tls_port : leader->port));
  return true;
}

}  // namespace fairlock::command
