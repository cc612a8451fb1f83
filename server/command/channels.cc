#include "server/command/channels.h"

#include <xxhash.h>

#include <cassert>
#include <memory>
#include <utility>

#include "protocol/reply_writer.h"
#include "server/command/client.h"
#include "server/command/text.h"

namespace fairlock::command {

struct Channels::Encoding {
  std::string_view word;
  const std::string_view* pattern;  // null: there is none
  std::string_view channel;
  std::string_view message;
  std::array<std::string, 2> bytes = {};

  std::string_view For(protocol::RespVersion version) {
    std::string& encoded = bytes[version == protocol::RespVersion::kResp2 ? 0 : 1];
    if (encoded.empty()) {
      protocol::ReplyWriter writer(encoded, version);
      writer.PushHeader(pattern == nullptr ? 3 : 4);
      writer.Bulk(word);
      if (pattern != nullptr) writer.Bulk(*pattern);
      writer.Bulk(channel);
      writer.Bulk(message);
    }
    return encoded;
  }
};

std::size_t Channels::NameHash::operator()(std::string_view name) const {
  return XXH3_64bits_withSeed(name.data(), name.size(), seed);
}

Channels::Channels(std::uint64_t hash_seed)
    : names_{Names(0, NameHash{hash_seed}), Names(0, NameHash{hash_seed}),
             Names(0, NameHash{hash_seed})} {}

bool Channels::Subscribe(Client& client, ChannelKind kind, std::string_view name) {
  Names& names = NamesOf(kind);
  auto found = names.find(name);
  const bool is_first = found == names.end();
  if (is_first) {
    found = names.emplace(std::string(name), Channel()).first;
    found->second.name = found->first;
  }
  Channel& channel = found->second;
  if (!channel.subscribers.insert(&client).second) return false;
  client.NeedSubscriptions().by_kind[static_cast<std::size_t>(kind)].insert(&channel);
  if (!is_first) return true;
  for (ChannelObserver* observer : observers_) observer->NoticeFirstSubscriber(channel.name, kind);
  return true;
}

bool Channels::IsSubscribed(Client& client, ChannelKind kind, std::string_view name) const {
  const auto found = NamesOf(kind).find(name);
  return found != NamesOf(kind).end() && found->second.subscribers.contains(&client);
}

bool Channels::Unsubscribe(Client& client, ChannelKind kind, std::string_view name) {
  const auto found = NamesOf(kind).find(name);
  if (found == NamesOf(kind).end() || !found->second.subscribers.contains(&client)) return false;
  Channel& channel = found->second;
  client.NeedSubscriptions().by_kind[static_cast<std::size_t>(kind)].erase(&channel);
  client.DropEmptySubscriptions();
  Remove(client, kind, channel);
  return true;
}

void Channels::UnsubscribeFromAll(Client& client) {
  const std::unique_ptr<Subscriptions> subscriptions = client.TakeSubscriptions();
  if (subscriptions == nullptr) return;
  for (const ChannelKind kind : {ChannelKind::kExact, ChannelKind::kPattern, ChannelKind::kShard}) {
    for (Channel* channel : subscriptions->of(kind)) Remove(client, kind, *channel);
  }
}

void Channels::Remove(Client& client, ChannelKind kind, Channel& channel) {
  channel.subscribers.erase(&client);
  if (!channel.subscribers.empty()) return;
  const std::string name(channel.name);
  NamesOf(kind).erase(name);
  for (ChannelObserver* observer : observers_) observer->NoticeLastSubscriberGone(name, kind);
}

template <typename Visit>
void Channels::VisitPatternsOf(std::string_view channel, Visit visit) const {
  const bool is_hidden = !lock_events_to_all_patterns_ && channel.starts_with(kLockChannelPrefix);
  for (const auto& [name, pattern] : NamesOf(ChannelKind::kPattern)) {
    if (is_hidden && !name.starts_with(kLockChannelPrefix)) continue;
    if (MatchesGlob(name, channel) && !visit(pattern)) return;
  }
}

std::size_t Channels::Publish(std::string_view channel, std::string_view message) {
  return Publish(channel, message, {});
}

std::size_t Channels::PublishToShard(std::string_view channel, std::string_view message) {
  const Names& shard = NamesOf(ChannelKind::kShard);
  const auto found = shard.find(channel);
  if (found == shard.end()) return 0;
  Encoding encoding{"smessage", nullptr, channel, message};
  return Deliver(found->second, encoding);
}

std::size_t Channels::Publish(std::string_view channel, std::string_view message,
                              const DeliveredGrant& grant) {
  std::size_t receivers = 0;
  const Names& exact = NamesOf(ChannelKind::kExact);
  if (const auto found = exact.find(channel); found != exact.end()) {
    Encoding encoding{"message", nullptr, channel, message};
    receivers += Deliver(found->second, encoding, grant);
  }
  VisitPatternsOf(channel, [&](const Channel& pattern) {
    Encoding encoding{"pmessage", &pattern.name, channel, message};
    receivers += Deliver(pattern, encoding);
    return true;
  });
  return receivers;
}

std::size_t Channels::Deliver(const Channel& channel, Encoding& encoding,
                              const DeliveredGrant& grant) {
  const bool is_shared = channel.subscribers.size() > 1;
  for (Client* client : channel.subscribers) {
    const bool is_written = client->Push(encoding.For(client->version()));
    if (grant.token != 0) client->NoteDelivery(grant, is_written, is_shared);
  }
  return channel.subscribers.size();
}

void Channels::PublishLater(std::string_view channel, std::string_view message,
                            const DeliveredGrant& grant) {
  waiting_.push_back({channel.size(), message.size(), grant});
  waiting_bytes_.append(channel).append(message);
}

void Channels::PublishToShardLater(std::string_view channel, std::string_view message) {
  waiting_.push_back({channel.size(), message.size(), {}, ChannelKind::kShard});
  waiting_bytes_.append(channel).append(message);
}

void Channels::PublishWaiting(std::vector<DeliveredGrant>& undelivered) {
  std::size_t begin = 0;
  for (const WaitingMessage& waiting : waiting_) {
    const std::string_view bytes = std::string_view(waiting_bytes_).substr(begin);
    const std::size_t size = waiting.channel_bytes + waiting.message_bytes;
    const std::string_view channel = bytes.substr(0, waiting.channel_bytes);
    if (waiting.grant.token != 0 && CountSubscribers(channel) == 0) {
      undelivered.push_back(waiting.grant);
    }
    const std::string_view message = bytes.substr(waiting.channel_bytes, waiting.message_bytes);
    if (waiting.kind == ChannelKind::kShard) {
      PublishToShard(channel, message);
    } else {
      Publish(channel, message, waiting.grant);
    }
    begin += size;
  }
  waiting_.clear();
  // What one step with many events needed is not kept.
  constexpr std::size_t kBytesKept = 64 * 1024;
  if (waiting_bytes_.capacity() > kBytesKept) {
    std::string().swap(waiting_bytes_);
    waiting_ = {};
  }
  waiting_bytes_.clear();
}

std::size_t Channels::CountReceivers(std::string_view channel) const {
  std::size_t receivers = CountSubscribers(channel);
  VisitPatternsOf(channel, [&](const Channel& pattern) {
    receivers += pattern.subscribers.size();
    return true;
  });
  return receivers;
}

bool Channels::HasListener(std::string_view channel) const {
  if (NamesOf(ChannelKind::kExact).contains(channel)) return true;
  bool has_listener = false;
  VisitPatternsOf(channel, [&](const Channel& /*pattern*/) {
    has_listener = true;
    return false;
  });
  return has_listener;
}

std::size_t Channels::CountSubscribers(std::string_view channel, ChannelKind kind) const {
  const Names& names = NamesOf(kind);
  const auto found = names.find(channel);
  return found == names.end() ? 0 : found->second.subscribers.size();
}

void Channels::VisitNames(ChannelKind kind,
                          const std::function<void(std::string_view name)>& visit) const {
  for (const auto& [name, channel] : NamesOf(kind)) visit(name);
}

}  // namespace fairlock::command
