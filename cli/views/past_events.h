// What happened to locks, as the server remembers it.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/base/result.h"
#include "cli/connection/client.h"
#include "cli/output/screen.h"
#include "protocol/reply.h"

namespace fairlock::cli {

struct PastQuery {
  std::string key;  // `*`: all
  std::optional<std::string> owner = {};
  std::optional<std::string> since = {};  // as HISTORY takes them
  std::optional<std::string> until = {};
  std::int64_t before = 0;  // older than the event with this number; 0: from the newest on
  std::int64_t count = 0;
};

struct PastPage {
  std::vector<protocol::Reply> events;  // maps, the newest first
  std::optional<std::int64_t> oldest_unix_ms;
  std::optional<std::int64_t> next_until;   // none: that was all
  std::optional<std::int64_t> next_before;  // the same as a number
};

Result<PastPage> AskForPast(Client& client, PastQuery query);

// As a table with the newest at the bottom.
std::string PastText(const std::vector<protocol::Reply>& events, bool has_keys,
                     const Screen& screen);

// What is worth to be told of an event beside its columns: reasons, holders, who used force.
std::string ShowEventDetails(const protocol::Reply& event, const Screen& screen);

Tint TintOfEvent(std::string_view event);

boost::json::object ObjectOf(const PastPage& page);

}  // namespace fairlock::cli
