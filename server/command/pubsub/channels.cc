#include "server/command/pubsub/channels.h"

#include <xxhash.h>

#include <cassert>
#include <memory>
#include <utility>

#include "protocol/reply_writer.h"
#include "server/command/client/client.h"
#include "server/command/table/text.h"

namespace fairlock::command {

struct Channels::Encoding {
  std::string_view word;
  const std::string_view* pattern;  // null: the subscription is by name
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

Channels::Channels(std::uint64_t hash_seed, WorkMeter& meter)
    : meter_(meter),
      names_{Names(0, NameHash{hash_seed}), Names(0, NameHash{hash_seed}),
             Names(0, NameHash{hash_seed})} {}

bool Channels::Subscribe(Client& client, ChannelKind kind, std::string_view name) {
  Names& names = NamesOf(kind);
  auto found = names.find(name);
  const bool is_first = found == names.end();
  if (is_first) {
    found = names.emplace(std::string(name), Channel()).first;
    found->second.name = found->first;
    if (kind == ChannelKind::kPattern) {
      found->second.glob = std::make_unique<const engine::Glob>(name);
      patterns_.Add(found->second);
    }
  }
  Channel& channel = found->second;
  if (!channel.subscribers.insert(&client).second) return false;
  if (client.subscriptions == nullptr) client.subscriptions = std::make_unique<Subscriptions>();
  Subscriptions& subscriptions = *client.subscriptions;
  subscriptions.by_kind[static_cast<std::size_t>(kind)].insert(&channel);
  if (kind == ChannelKind::kPattern) {
    subscriptions.pattern_bytes += name.size();
    subscriptions.pattern_cost += PatternList::CostOf(*channel.glob);
  }
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
  Subscriptions& subscriptions = *client.subscriptions;
  subscriptions.by_kind[static_cast<std::size_t>(kind)].erase(&channel);
  if (kind == ChannelKind::kPattern) {
    subscriptions.pattern_bytes -= name.size();
    subscriptions.pattern_cost -= PatternList::CostOf(*channel.glob);
  }
  if (subscriptions.size() == 0) client.subscriptions.reset();
  Remove(client, kind, channel);
  return true;
}

void Channels::UnsubscribeFromAll(Client& client) {
  const std::unique_ptr<Subscriptions> subscriptions = std::move(client.subscriptions);
  if (subscriptions == nullptr) return;
  for (const ChannelKind kind : {ChannelKind::kExact, ChannelKind::kPattern, ChannelKind::kShard}) {
    for (Channel* channel : subscriptions->of(kind)) Remove(client, kind, *channel);
  }
}

void Channels::Remove(Client& client, ChannelKind kind, Channel& channel) {
  channel.subscribers.erase(&client);
  if (!channel.subscribers.empty()) return;
  const std::string name(channel.name);
  if (kind == ChannelKind::kPattern) patterns_.Remove(channel);
  NamesOf(kind).erase(name);
  for (ChannelObserver* observer : observers_) observer->NoticeLastSubscriberGone(name, kind);
}

void Channels::VisitPatternsOf(std::string_view channel,
                               const std::function<bool(const Channel& pattern)>& visit) {
  const bool is_hidden = !lock_events_to_all_patterns_ && channel.starts_with(kLockChannelPrefix);
  const std::size_t head_bytes_min = is_hidden ? kLockChannelPrefix.size() : 0;
  std::uint64_t compared = 0;
  patterns_.VisitMatches(channel, head_bytes_min, compared, [&](const Channel& pattern) {
    // Comparing heads is not enough, because escapes are removed from a head: a pattern with a
    // backslash in the prefix does not literally begin with the prefix.
    if (is_hidden && !pattern.name.starts_with(kLockChannelPrefix)) return true;
    return visit(pattern);
  });
  spent_in_turn_ += compared;
  meter_.Charge(compared);
}

std::size_t Channels::Publish(std::string_view channel, std::string_view message) {
  const std::size_t receivers = PublishByName(channel, message);
  // This message must not overtake the deferred ones.
  if (has_deferred()) {
    const std::size_t by_pattern = CountReceivers(channel) - receivers;
    PublishOrDefer(channel, message);
    return receivers + by_pattern;
  }
  return receivers + PublishByPattern(channel, message);
}

std::size_t Channels::PublishToShard(std::string_view channel, std::string_view message) {
  const Channel* const found = Find(ChannelKind::kShard, channel);
  if (found == nullptr) return 0;
  Encoding encoding{"smessage", nullptr, channel, message};
  return Deliver(*found, encoding);
}

std::size_t Channels::PublishByName(std::string_view channel, std::string_view message) {
  const Channel* const found = Find(ChannelKind::kExact, channel);
  if (found == nullptr) return 0;
  Encoding encoding{"message", nullptr, channel, message};
  return Deliver(*found, encoding);
}

void Channels::PublishFromServer(std::string_view channel, std::string_view message) {
  PublishByName(channel, message);
  PublishOrDefer(channel, message);
}

bool Channels::Notify(std::string_view channel, std::string_view message,
                      const DeliveredGrant& grant) {
  const std::size_t receivers = CountNotified(channel);
  if (const Channel* const exact = Find(ChannelKind::kExact, channel)) {
    Encoding encoding{"message", nullptr, channel, message};
    DeliverGrant(*exact, encoding, grant, receivers > 1);
  }
  const Channel* const shard =
      notify_reaches_shards_ ? Find(ChannelKind::kShard, channel) : nullptr;
  if (shard != nullptr) {
    Encoding encoding{"smessage", nullptr, channel, message};
    DeliverGrant(*shard, encoding, grant, receivers > 1);
  }
  PublishOrDefer(channel, message);
  return receivers > 0;
}

std::size_t Channels::PublishByPattern(std::string_view channel, std::string_view message) {
  std::size_t receivers = 0;
  VisitPatternsOf(channel, [&](const Channel& pattern) {
    Encoding encoding{"pmessage", &pattern.name, channel, message};
    receivers += Deliver(pattern, encoding);
    return true;
  });
  return receivers;
}

void Channels::PublishOrDefer(std::string_view channel, std::string_view message) {
  if (patterns_.empty()) return;
  if (!IsTurnSpent()) {
    PublishByPattern(channel, message);
    return;
  }
  deferred_.push_back({std::string(channel), std::string(message)});
  deferred_bytes_ += sizeof(DeferredMessage) + channel.size() + message.size();
}

void Channels::PublishDeferred() {
  spent_in_turn_ = 0;
  while (has_deferred() && spent_in_turn_ < kWorkPerTurn) {
    const DeferredMessage deferred = std::move(deferred_.front());
    deferred_.pop_front();
    deferred_bytes_ -= sizeof(DeferredMessage) + deferred.channel.size() + deferred.message.size();
    PublishByPattern(deferred.channel, deferred.message);
  }
  if (deferred_bytes_ > kDeferredBytesMax) CloseCostliest();
}

// A client whose patterns cost too much is treated like a subscriber that does not read its
// messages.
void Channels::CloseCostliest() {
  Client* costliest = nullptr;
  const auto cost_of = [](const Client& client) { return client.subscriptions->pattern_cost; };
  for (const auto& [name, pattern] : NamesOf(ChannelKind::kPattern)) {
    for (Client* client : pattern.subscribers) {
      if (costliest == nullptr || cost_of(*client) > cost_of(*costliest)) costliest = client;
    }
  }
  if (costliest != nullptr) costliest->transport.CloseNow();
}

const Channel* Channels::Find(ChannelKind kind, std::string_view name) const {
  const Names& names = NamesOf(kind);
  const auto found = names.find(name);
  return found == names.end() ? nullptr : &found->second;
}

std::size_t Channels::Deliver(const Channel& channel, Encoding& encoding) {
  const std::uint64_t work = channel.subscribers.size() * kDeliveryWork;
  spent_in_turn_ += work;
  meter_.Charge(work);
  for (Client* client : channel.subscribers) client->Push(encoding.For(client->profile.version));
  return channel.subscribers.size();
}

void Channels::DeliverGrant(const Channel& channel, Encoding& encoding, const DeliveredGrant& grant,
                            bool is_shared) {
  for (Client* client : channel.subscribers) {
    const bool is_written = client->Push(encoding.For(client->profile.version));
    if (grant.token == 0) continue;
    if (is_written) {
      client->grants.AddDelivery(client->output.written(), grant, is_shared);
    } else {
      client->grants.AddLostDelivery(grant, is_shared);
    }
  }
}

std::size_t Channels::CountReceivers(std::string_view channel) {
  std::size_t receivers = CountSubscribers(channel);
  VisitPatternsOf(channel, [&](const Channel& pattern) {
    receivers += pattern.subscribers.size();
    return true;
  });
  return receivers;
}

bool Channels::MayHaveListener(std::string_view channel, std::size_t held_bytes) {
  if (NamesOf(ChannelKind::kExact).contains(channel)) return true;
  if (patterns_.empty()) return false;
  if (IsTurnSpent() && deferred_bytes_ + held_bytes < kDeferredBytesMax) return true;
  bool is_any = false;
  VisitPatternsOf(channel, [&](const Channel& /*pattern*/) {
    is_any = true;
    return false;
  });
  return is_any;
}

std::size_t Channels::CountSubscribers(std::string_view channel, ChannelKind kind) const {
  const Channel* const found = Find(kind, channel);
  return found == nullptr ? 0 : found->subscribers.size();
}

std::size_t Channels::CountNotified(std::string_view channel) const {
  return CountSubscribers(channel) +
         (notify_reaches_shards_ ? CountSubscribers(channel, ChannelKind::kShard) : 0);
}

void Channels::VisitNames(ChannelKind kind,
                          const std::function<bool(std::string_view name)>& visit) const {
  for (const auto& [name, channel] : NamesOf(kind)) {
    if (!visit(name)) return;
  }
}

}  // namespace fairlock::command
