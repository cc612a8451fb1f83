#include "server/command/cluster/node_id.h"

#include "server/access/digest.h"

namespace fairlock::command {

std::string NodeId(std::string_view fleet, std::string_view node) {
  constexpr std::size_t kDigits = 40;
  const std::string name = std::string(fleet).append("/").append(node);
  return access::HexOf(access::DigestOf(name)).substr(0, kDigits);
}

}  // namespace fairlock::command
