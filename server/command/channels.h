// Who listens to which channel, and how a message comes to them.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/engine/types.h"

namespace fairlock::command {

class Client;

// Shard channels are names of their own: a message on one never reaches a channel or a pattern.
enum class ChannelKind : std::uint8_t { kExact, kPattern, kShard };
inline constexpr std::size_t kChannelKinds = 3;

// Under it the server tells what happens to locks, and nobody else anything.
inline constexpr std::string_view kOwnChannelPrefix = "__";
// Of the channels that carry the events of locks, which Redis does not have.
inline constexpr std::string_view kLockChannelPrefix = "__lock@";

// A grant of which a message tells.
struct DeliveredGrant {
  std::uint64_t key_hash = 0;
  engine::Token token = 0;  // 0: it tells of none
};

// A name of one kind to which somebody is subscribed.
struct Channel {
  std::string_view name;  // that of its map
  boost::unordered_flat_set<Client*> subscribers;
};

// What one client is subscribed to, by kind. There is none while it is subscribed to nothing.
struct Subscriptions {
  std::array<boost::unordered_flat_set<Channel*>, kChannelKinds> by_kind;

  const boost::unordered_flat_set<Channel*>& of(ChannelKind kind) const {
    return by_kind[static_cast<std::size_t>(kind)];
  }
  std::size_t size() const {
    std::size_t names = 0;
    for (const auto& channels : by_kind) names += channels.size();
    return names;
  }
};

// Told when a name gets its first subscriber, and when it has lost its last one. Loop-confined;
// must not subscribe or unsubscribe anybody.
class ChannelObserver {
 public:
  virtual void NoticeFirstSubscriber(std::string_view name, ChannelKind kind) = 0;
  virtual void NoticeLastSubscriberGone(std::string_view name, ChannelKind kind) = 0;

 protected:
  ~ChannelObserver() = default;
};

// Exact channels are found by their name; patterns stand in a list and are tried one after the
// other. A message is put into the outputs of those who are subscribed at that moment, once for
// each name of theirs that matches, and kept for nobody.
//
// Loop-confined. To subscribe and to unsubscribe are O(1); to publish is O(patterns + receivers).
class Channels {
 public:
  // Of a name to which a client subscribes.
  static constexpr std::size_t kNameBytesMax = 4096;

  explicit Channels(std::uint64_t hash_seed);

  // False: it was subscribed before.
  bool Subscribe(Client& client, ChannelKind kind, std::string_view name);
  bool IsSubscribed(Client& client, ChannelKind kind, std::string_view name) const;
  // False: it was not subscribed.
  bool Unsubscribe(Client& client, ChannelKind kind, std::string_view name);
  void UnsubscribeFromAll(Client& client);

  // How many received it; who is subscribed by two names counts twice.
  std::size_t Publish(std::string_view channel, std::string_view message);
  // The same on a shard channel, to the subscribers of that name.
  std::size_t PublishToShard(std::string_view channel, std::string_view message);
  // The same behind the replies to those whose requests caused the message: when PublishWaiting is
  // called. Both are copied. What tells of a grant delivers it to all who are subscribed to the
  // channel by its name.
  void PublishLater(std::string_view channel, std::string_view message,
                    const DeliveredGrant& grant = {});
  void PublishToShardLater(std::string_view channel, std::string_view message);
  bool has_waiting() const { return !waiting_.empty(); }
  // Adds the grants that nobody was there for.
  void PublishWaiting(std::vector<DeliveredGrant>& undelivered);

  // How many would receive a message on that channel. O(patterns).
  std::size_t CountReceivers(std::string_view channel) const;
  // Whether anybody would receive a message on that channel. O(patterns).
  bool HasListener(std::string_view channel) const;
  // Without the subscribers of patterns. REQUIRES: not kPattern.
  std::size_t CountSubscribers(std::string_view channel,
                               ChannelKind kind = ChannelKind::kExact) const;
  void VisitNames(ChannelKind kind, const std::function<void(std::string_view name)>& visit) const;
  // How many names of that kind have subscribers.
  std::size_t CountNames(ChannelKind kind) const { return NamesOf(kind).size(); }

  // Observers outlive it.
  void AddObserver(ChannelObserver& observer) { observers_.push_back(&observer); }

  // Whether each pattern that matches reaches the channels of locks too; else only patterns that
  // begin with kLockChannelPrefix to the letter, so that `*` gets what it gets from Redis.
  void set_lock_events_to_all_patterns(bool reaches) { lock_events_to_all_patterns_ = reaches; }

  // Of all kinds together, for each client.
  std::size_t subscriptions_max() const { return subscriptions_max_; }
  void set_subscriptions_max(std::size_t count) { subscriptions_max_ = count; }

 private:
  struct NameHash {
    using is_transparent = void;
    std::uint64_t seed;
    std::size_t operator()(std::string_view name) const;
  };
  using Names = std::unordered_map<std::string, Channel, NameHash, std::equal_to<>>;
  // Its bytes stand in waiting_bytes_, the channel's before the message's.
  struct WaitingMessage {
    std::size_t channel_bytes;
    std::size_t message_bytes;
    DeliveredGrant grant;
    ChannelKind kind = ChannelKind::kExact;
  };
  // The same message for both versions of the protocol, made when it is first needed.
  struct Encoding;

  Names& NamesOf(ChannelKind kind) { return names_[static_cast<std::size_t>(kind)]; }
  const Names& NamesOf(ChannelKind kind) const { return names_[static_cast<std::size_t>(kind)]; }
  void Remove(Client& client, ChannelKind kind, Channel& channel);
  // The patterns whose subscribers get a message on that channel, until `visit` answers false.
  template <typename Visit>
  void VisitPatternsOf(std::string_view channel, Visit visit) const;
  std::size_t Publish(std::string_view channel, std::string_view message,
                      const DeliveredGrant& grant);
  static std::size_t Deliver(const Channel& channel, Encoding& encoding,
                             const DeliveredGrant& grant = {});

  std::array<Names, kChannelKinds> names_;
  std::vector<WaitingMessage> waiting_;
  std::string waiting_bytes_;
  std::vector<ChannelObserver*> observers_;
  std::size_t subscriptions_max_ = 10'000;
  bool lock_events_to_all_patterns_ = false;
};

}  // namespace fairlock::command
