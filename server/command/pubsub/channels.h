// Who listens to which channel, and how a message comes to them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/command/client/subscriptions.h"
#include "server/command/client/unsent_grants.h"
#include "server/command/pubsub/channel.h"
#include "server/command/pubsub/pattern_list.h"
#include "server/command/table/glob_walk.h"
#include "server/engine/api/glob.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

class Client;

// Under it the server tells what happens to locks, and nobody else anything.
inline constexpr std::string_view kOwnChannelPrefix = "__";
// Of the channels that carry the events of locks, which Redis does not have.
inline constexpr std::string_view kLockChannelPrefix = "__lock@";

// Told when a name gets its first subscriber, and when it has lost its last one. Loop-confined;
// must not subscribe or unsubscribe anybody.
class ChannelObserver {
 public:
  virtual void NoticeFirstSubscriber(std::string_view name, ChannelKind kind) = 0;
  virtual void NoticeLastSubscriberGone(std::string_view name, ChannelKind kind) = 0;

 protected:
  ~ChannelObserver() = default;
};

// Exact channels are found by their name; of the patterns those are tried whose literal beginning
// is that of the channel. A message is put into the outputs of those who are subscribed at that
// moment, once for each name of theirs that matches, and kept for nobody.
//
// What the server itself publishes in a turn is matched with patterns only up to
// kMatchingPerTurn; the rest is deferred to the next turns, in order, so that neither many events
// nor costly patterns make a turn long.
//
// Loop-confined. To subscribe and to unsubscribe are O(log patterns); to publish is O(patterns with
// the channel's beginning + receivers).
class Channels {
 public:
  // Of the name of a channel; a pattern is a glob, which has a bound of its own.
  static constexpr std::size_t kNameBytesMax = 4096;
  // Of all patterns of one connection.
  static constexpr std::size_t kPatternBytesMax = 512 * 1024;
  // What they may cost a message, and what the patterns of all connections may, in compared bytes.
  static constexpr std::uint64_t kPatternCostMax = 1'000'000;
  static constexpr std::uint64_t kAllPatternsCostMax = 4 * kPatternCostMax;
  // Compared for messages of the server in one turn, and no more than one message beyond it.
  static constexpr std::uint64_t kMatchingPerTurn = 2'000'000;
  // When deferred messages take more memory, the connection whose patterns cost most is closed.
  static constexpr std::size_t kDeferredBytesMax = 64 * 1024 * 1024;

  Channels(std::uint64_t hash_seed, MatchingMeter& meter);

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
  // A turn begins: matches the messages that were deferred, as many as fit into it.
  void PublishDeferred();
  bool has_deferred() const { return !deferred_.empty(); }

  // How many would receive a message on that channel.
  std::size_t CountReceivers(std::string_view channel);
  // Whether anybody would receive a message of the server on that channel; true as well if it is
  // too much to find out in this turn.
  bool MayHaveListener(std::string_view channel);
  // Without the subscribers of patterns. REQUIRES: not kPattern.
  std::size_t CountSubscribers(std::string_view channel,
                               ChannelKind kind = ChannelKind::kExact) const;
  // Until `visit` returns false.
  void VisitNames(ChannelKind kind, const std::function<bool(std::string_view name)>& visit) const;
  // How many names of that kind have subscribers.
  std::size_t CountNames(ChannelKind kind) const { return NamesOf(kind).size(); }

  // What the patterns of all connections cost a message at most.
  std::uint64_t all_patterns_cost() const { return patterns_.cost_max(); }

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
  struct DeferredMessage {
    std::string channel;
    std::string message;
  };
  // The same message for both versions of the protocol, made when it is first needed.
  struct Encoding;

  Names& NamesOf(ChannelKind kind) { return names_[static_cast<std::size_t>(kind)]; }
  const Names& NamesOf(ChannelKind kind) const { return names_[static_cast<std::size_t>(kind)]; }
  void Remove(Client& client, ChannelKind kind, Channel& channel);
  // The patterns whose subscribers get a message on that channel, until `visit` returns false.
  // Charges what is compared.
  void VisitPatternsOf(std::string_view channel,
                       const std::function<bool(const Channel& pattern)>& visit);
  std::size_t PublishByName(std::string_view channel, std::string_view message,
                            const DeliveredGrant& grant = {});
  std::size_t PublishByPattern(std::string_view channel, std::string_view message);
  bool IsTurnSpent() const { return matched_in_turn_ >= kMatchingPerTurn || has_deferred(); }
  void PublishOrDefer(std::string_view channel, std::string_view message);
  void CloseCostliest();
  static std::size_t Deliver(const Channel& channel, Encoding& encoding,
                             const DeliveredGrant& grant = {});

  MatchingMeter& meter_;
  std::array<Names, kChannelKinds> names_;
  PatternList patterns_;  // those of names_
  std::deque<DeferredMessage> deferred_;
  std::size_t deferred_bytes_ = 0;
  std::uint64_t matched_in_turn_ = 0;
  std::vector<WaitingMessage> waiting_;
  std::string waiting_bytes_;
  std::vector<ChannelObserver*> observers_;
  std::size_t subscriptions_max_ = 10'000;
  bool lock_events_to_all_patterns_ = false;
};

}  // namespace fairlock::command
