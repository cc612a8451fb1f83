#include "storage/etcd/watch_cursor.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "storage/etcd/codec.h"

namespace fairlock::storage::etcd {

std::vector<WatchEvent> WatchCursor::Take(etcdserverpb::WatchResponse&& response) {
  if (response.created() && next_ == 0) next_ = response.header().revision() + 1;
  std::vector<WatchEvent> events = std::exchange(held_back_, {});
  for (auto& each : *response.mutable_events()) {
    if (each.kv().mod_revision() < next_) continue;
    const bool is_delete = each.type() == etcdserverpb::Event::DELETE;
    events.push_back({.kind = is_delete ? WatchEvent::Kind::kDelete : WatchEvent::Kind::kPut,
                      .kv = Decode(std::move(*each.mutable_kv()))});
  }
  if (events.empty()) return events;
  std::int64_t last = events.back().kv.mod_revision;
  if (response.fragment()) {
    const auto held_back = std::ranges::find_if(
        events, [last](const WatchEvent& event) { return event.kv.mod_revision == last; });
    held_back_.assign(std::make_move_iterator(held_back), std::make_move_iterator(events.end()));
    events.erase(held_back, events.end());
    --last;
  }
  next_ = last + 1;
  return events;
}

}  // namespace fairlock::storage::etcd
