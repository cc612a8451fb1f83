#include "server/command/execution/request_prefetch.h"

#include <cstddef>

namespace fairlock::command {

void RequestPrefetch::Prepare(std::uint8_t database, RequestAhead& request) const {
  request.row = table_.IndexOf(request.arguments[0]);
  request.has_key = false;
  if (request.row == CommandTable::kNone) return;
  const auto position = static_cast<std::size_t>(table_.rows()[request.row]->keys.first);
  if (position == 0 || position >= request.arguments.size()) return;
  request.has_key = true;
  request.database = database;
  request.key_hash = engine_.Prefetch({request.database, request.arguments[position]});
  recorder_.Prefetch(request.key_hash);
}

}  // namespace fairlock::command
