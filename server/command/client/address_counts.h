// How many connections each address has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace fairlock::command {

// Addresses of one network of IPv6 (/64) count as one; unix sockets are not counted. All views are
// peers as ClientAddress has them. Loop-confined.
class AddressCounts {
 public:
  // Of one address; 0: any number. Who is there stays.
  std::size_t count_max() const { return count_max_; }
  void set_count_max(std::size_t count) { count_max_ = count; }

  // Whether its address may have no more.
  bool IsFull(std::string_view peer) const;
  void Add(std::string_view peer);
  // REQUIRES: added before.
  void Remove(std::string_view peer);
  std::size_t size() const { return counts_.size(); }

 private:
  std::size_t count_max_ = 0;
  std::unordered_map<std::string, std::uint32_t> counts_;  // by network; none is 0
};

}  // namespace fairlock::command
