// The channels of NOTIFY, on which owners learn how their requests ended, and that holds were lost.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/engine/api/attachment.h"
#include "server/engine/state/claim.h"

namespace fairlock::engine {

class ChannelTable;

// A channel, to which requests with NOTIFY and the sessions of their holds are attached instead of
// a connection. It is open while it has a subscriber.
//
// The claims that name it share it; it is destroyed with the last of them.
class NotifyChannel final : public Attachment, public std::enable_shared_from_this<NotifyChannel> {
 public:
  explicit NotifyChannel(std::string_view its_name) : name(its_name) {}
  ~NotifyChannel() { assert(absent.empty()); }

  const std::string name;
  bool is_open = true;
  List absent;  // the places that wait for it to reopen
};

// All channels that are named by at least one claim. Owns none of them; outlives them.
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

// Access to the options of claims, most of which have few options.
inline const Terms& TermsOf(const Hold& hold) {
  static constexpr Terms kNone;
  if (!hold.is_claim()) return kNone;
  const auto& claim = static_cast<const Claim&>(hold);
  return claim.extras == nullptr ? kNone : claim.extras->terms;
}

// Whether `name` is the channel of its NOTIFY; with no `name`: whether it has no NOTIFY.
inline bool HasChannel(const Hold& hold, std::optional<std::string_view> name) {
  const NotifyChannel* channel =
      hold.is_claim() ? static_cast<const Claim&>(hold).channel() : nullptr;
  return channel == nullptr ? !name : name == channel->name;
}

// The WAIT of a place with NOTIFY; kForever: no time limit.
inline DurationMs ChannelWaitOf(const Claim& place) {
  return place.extras == nullptr ? 0 : place.extras->wait_ms;
}

}  // namespace fairlock::engine
