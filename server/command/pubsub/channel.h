// A channel or pattern to which clients are subscribed.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <memory>
#include <string_view>

#include "server/engine/api/glob.h"

namespace fairlock::command {

class Client;

// Every channel has one kind and at least one subscriber.
struct Channel {
  std::string_view name;                     // a view of the channel's key in the map
  std::unique_ptr<const engine::Glob> glob;  // null: not a pattern
  boost::unordered_flat_set<Client*> subscribers;
};

}  // namespace fairlock::command
