// A name that clients are subscribed to.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <memory>
#include <string_view>

#include "server/engine/api/glob.h"

namespace fairlock::command {

class Client;

// Of one kind, with at least one subscriber.
struct Channel {
  std::string_view name;                     // that of its map
  std::unique_ptr<const engine::Glob> glob;  // null: it is no pattern
  boost::unordered_flat_set<Client*> subscribers;
};

}  // namespace fairlock::command
