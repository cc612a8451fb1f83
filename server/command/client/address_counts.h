// Counts the connections from each address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace fairlock::command {

// The address of a peer without its port; for IPv6, the /64 network; for a unix socket, its path.
std::string NetworkOf(std::string_view peer);

// IPv6 addresses of one /64 network count as one address; unix sockets are not counted. Arguments
// have the form of ClientAddress::peer. Loop-confined.
class AddressCounts {
 public:
  // The limit for each address; 0: no limit. Lowering it does not close existing connections.
  std::size_t count_max() const { return count_max_; }
  void set_count_max(std::size_t count) { count_max_ = count; }

  // Whether the address of this peer has reached the limit.
  bool IsFull(std::string_view peer) const;
  void Add(std::string_view peer);
  // REQUIRES: Add was called for the same peer.
  void Remove(std::string_view peer);
  std::size_t size() const { return counts_.size(); }

 private:
  std::size_t count_max_ = 0;
  std::unordered_map<std::string, std::uint32_t> counts_;  // by network; no count is 0
};

}  // namespace fairlock::command
