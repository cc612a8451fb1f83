#include "server/command/execution/request_prefetch.h"

#include <cstddef>

namespace fairlock::command {

void RequestPrefetch::Prepare(std::uint8_t database, RequestAhead& request) const {
  request.row = table_.IndexOf(request.arguments[0]);
  request.key = {.db = database};
  if (request.row == CommandTable::kNone) return;
  const auto position = static_cast<std::size_t>(table_.rows()[request.row]->keys.first);
  if (position == 0 || position >= request.arguments.size()) return;
  request.key.bytes = request.arguments[position];
  request.key.hash = engine_.Prefetch(request.key);
  recorder_.Prefetch(request.key.hash);
}

}  // namespace fairlock::command
