// The channels of NOTIFY, on which owners learn how their requests ended, and that holds were lost.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cassert>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/engine/api/attachment.h"

namespace fairlock::engine {

class ChannelTable;

// A channel, to which requests with NOTIFY and the sessions of their holds are attached instead of
// a connection. It is open while it has a subscriber.
//
// The claims that name it share it; it is destroyed with the last of them. Loop-confined.
class NotifyChannel final : public Attachment, public std::enable_shared_from_this<NotifyChannel> {
 public:
  explicit NotifyChannel(std::string_view its_name) : name(its_name) {}
  ~NotifyChannel() { assert(absent.empty()); }

  const std::string name;
  bool is_open = true;
  List absent;  // the places that wait for it to reopen
};

// All channels that are named by at least one claim. Owns none of them; outlives them.
// Loop-confined.
class ChannelTable {
 public:
  explicit ChannelTable(std::uint64_t seed) : by_name_(0, HashOfName{seed}) {}
  ~ChannelTable() { assert(by_name_.empty()); }

  // Null: no claim names it.
  NotifyChannel* Find(std::string_view name) const;
  std::shared_ptr<NotifyChannel> Need(std::string_view name);

 private:
  struct HashOfName {
    std::uint64_t seed;
    std::size_t operator()(std::string_view name) const;
  };

  // The keys are views of the channels' names.
  boost::unordered_flat_map<std::string_view, NotifyChannel*, HashOfName> by_name_;
};

}  // namespace fairlock::engine
