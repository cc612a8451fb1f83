#include "server/engine/state/notify_channel.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fairlock::engine {

std::size_t ChannelTable::HashOfName::operator()(std::string_view name) const {
  return XXH3_64bits_withSeed(name.data(), name.size(), seed);
}

NotifyChannel* ChannelTable::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::shared_ptr<NotifyChannel> ChannelTable::Need(std::string_view name) {
  if (NotifyChannel* channel = Find(name)) return channel->shared_from_this();
  const std::shared_ptr<NotifyChannel> made(new NotifyChannel(name), [this](NotifyChannel* gone) {
    by_name_.erase(gone->name);
    delete gone;
  });
  by_name_.emplace(made->name, made.get());
  return made;
}

}  // namespace fairlock::engine
