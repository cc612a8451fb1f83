// A name that clients are subscribed to.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <memory>
#include <string_view>

#include "server/engine/api/glob.h"

namespace fairlock::command {

class Client;

// Has one kind and at least one subscriber.
struct Channel {
  std::string_view name;                     // a view of its key in the map
  std::unique_ptr<const engine::Glob> glob;  // null: not a pattern
  boost::unordered_flat_set<Client*> subscribers;
};

}  // namespace fairlock::command
