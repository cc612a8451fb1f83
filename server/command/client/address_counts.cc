#include "server/command/client/address_counts.h"

#include <cassert>

#include "server/access/failed_log_ins.h"
#include "text/address.h"

namespace fairlock::command {

namespace {

// Returns true for "127.0.0.1:5" and "[::1]:5"; anything else is the path of a unix socket.
bool IsOfNetwork(std::string_view peer) {
  if (peer.starts_with('[')) return true;
  const std::string_view host = text::SplitAddress(peer).host;
  return !host.empty() && host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

std::string NetworkOf(std::string_view peer) { return access::NetworkOf(peer); }

bool AddressCounts::IsFull(std::string_view peer) const {
  if (count_max_ == 0 || !IsOfNetwork(peer)) return false;
  const auto found = counts_.find(access::NetworkOf(peer));
  return found != counts_.end() && found->second >= count_max_;
}

void AddressCounts::Add(std::string_view peer) {
  if (IsOfNetwork(peer)) ++counts_[access::NetworkOf(peer)];
}

void AddressCounts::Remove(std::string_view peer) {
  if (!IsOfNetwork(peer)) return;
  const auto found = counts_.find(access::NetworkOf(peer));
  assert(found != counts_.end());
  if (--found->second == 0) counts_.erase(found);
}

}  // namespace fairlock::command
