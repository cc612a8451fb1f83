// Knows which clients listen to which channels, and passes messages to them.
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

#include "server/command/client/client.h"
#include "server/command/client/unsent_grants.h"
#include "server/command/pubsub/pattern_list.h"
#include "server/command/table/glob_walk.h"
#include "server/engine/api/glob.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

class Client;

// Names with this prefix are reserved for the server, which publishes lock events on them.
inline constexpr std::string_view kOwnChannelPrefix = "__";
// The prefix of the channels that carry lock events in our own format, which Redis does not have.
inline constexpr std::string_view kLockChannelPrefix = "__lock@";

// Notified when a name gets its first subscriber, and when it loses its last one. Must not
// subscribe or unsubscribe clients. Loop-confined.
class ChannelObserver {
 public:
  virtual void NoticeFirstSubscriber(std::string_view name, ChannelKind kind) = 0;
  virtual void NoticeLastSubscriberGone(std::string_view name, ChannelKind kind) = 0;

 protected:
  ~ChannelObserver() = default;
};

// Exact channels are found by name. Of the patterns, only those are tried whose literal beginning
// is also a beginning of the channel's name. A message is written to the outputs of its current
// subscribers, once for each of their names that matches, and is not stored.
//
// In one turn, messages that the server itself publishes are matched against patterns, and written
// for the subscribers of patterns, only up to kWorkPerTurn. The rest is deferred to later turns, in
// order, so that neither many events nor costly patterns can make a turn long.
//
// Loop-confined. Subscribing and unsubscribing are O(log patterns). Publishing is O(patterns that
// share the channel's beginning + receivers).
class Channels {
 public:
  // Limits the name of a channel. A pattern is a glob, which has a limit of its own.
  static constexpr std::size_t kNameBytesMax = 4096;
  // Limits the total length of the patterns of one connection.
  static constexpr std::size_t kPatternBytesMax = 512 * 1024;
  // The maximum cost per message, in bytes compared, of one connection's patterns and of the
  // patterns of all connections.
  static constexpr std::uint64_t kPatternCostMax = 1'000'000;
  static constexpr std::uint64_t kAllPatternsCostMax = 4 * kPatternCostMax;
  // The maximum work for the server's messages in one turn, in the unit of WorkMeter. The last
  // message may exceed it.
  static constexpr std::uint64_t kWorkPerTurn = 2'000'000;
  // The work of writing a message to the output of one client.
  static constexpr std::uint64_t kDeliveryWork = 200;
  // If deferred messages take more memory, the connection with the costliest patterns is closed.
  static constexpr std::size_t kDeferredBytesMax = 64 * 1024 * 1024;

  Channels(std::uint64_t hash_seed, WorkMeter& meter);

  // Returns false if the client was already subscribed.
  bool Subscribe(Client& client, ChannelKind kind, std::string_view name);
  bool IsSubscribed(Client& client, ChannelKind kind, std::string_view name) const;
  // Returns false if the client was not subscribed.
  bool Unsubscribe(Client& client, ChannelKind kind, std::string_view name);
  void UnsubscribeFromAll(Client& client);

  // Returns the number of receivers. A client that is subscribed by two names counts twice.
  std::size_t Publish(std::string_view channel, std::string_view message);
  // Publishes on a shard channel, to the subscribers of that name.
  std::size_t PublishToShard(std::string_view channel, std::string_view message);
  // Publishes a message for which nobody waits to learn the number of its receivers.
  void PublishFromServer(std::string_view channel, std::string_view message);
  // Publishes a message of NOTIFY. If it is about a grant, it delivers that grant to every client
  // that counts for NOTIFY. Returns false if there is none.
  bool Notify(std::string_view channel, std::string_view message, const DeliveredGrant& grant);
  // Must be called when a turn begins: matches as many deferred messages as fit into the turn.
  void PublishDeferred();
  bool has_deferred() const { return !deferred_.empty(); }

  // Returns how many subscriptions would receive a message on that channel.
  std::size_t CountReceivers(std::string_view channel);
  // Whether a message that the server publishes on that channel would have a receiver. Also returns
  // true if finding out would take too long in this turn, and less than kDeferredBytesMax, of which
  // `held_bytes` are not published yet, would have to be deferred.
  bool MayHaveListener(std::string_view channel, std::size_t held_bytes);
  // Does not count clients that are subscribed by a pattern. REQUIRES: not kPattern.
  std::size_t CountSubscribers(std::string_view channel,
                               ChannelKind kind = ChannelKind::kExact) const;
  // How many clients count for NOTIFY on that channel: those that are subscribed to it by name.
  std::size_t CountNotified(std::string_view channel) const;
  // Stops when `visit` returns false.
  void VisitNames(ChannelKind kind, const std::function<bool(std::string_view name)>& visit) const;
  // How many names of that kind have subscribers.
  std::size_t CountNames(ChannelKind kind) const { return NamesOf(kind).size(); }

  // The maximum total cost of the patterns of all connections, per message.
  std::uint64_t all_patterns_cost() const { return patterns_.cost_max(); }

  // Observers must outlive this object.
  void AddObserver(ChannelObserver& observer) { observers_.push_back(&observer); }

  // Whether every matching pattern also receives the messages on lock channels. If not, only
  // patterns that literally begin with kLockChannelPrefix do, so that `*` receives the same
  // messages as from Redis.
  void set_lock_events_to_all_patterns(bool reaches) { lock_events_to_all_patterns_ = reaches; }

  // Lets NOTIFY reach the subscribers of shard channels too: in a fleet of several partitions, most
  // clients of a cluster find the leader of a channel's slot only with SSUBSCRIBE.
  void set_notify_reaches_shards(bool reaches) { notify_reaches_shards_ = reaches; }

  // The limit on the total number of subscriptions of each client, of every kind.
  std::size_t subscriptions_max() const { return subscriptions_max_; }
  void set_subscriptions_max(std::size_t count) { subscriptions_max_ = count; }

 private:
  struct NameHash {
    using is_transparent = void;
    std::uint64_t seed;
    std::size_t operator()(std::string_view name) const;
  };
  using Names = std::unordered_map<std::string, Channel, NameHash, std::equal_to<>>;
  struct DeferredMessage {
    std::string channel;
    std::string message;
  };
  // One message in the encodings of both protocol versions. Each is made when it is first used.
  struct Encoding;

  Names& NamesOf(ChannelKind kind) { return names_[static_cast<std::size_t>(kind)]; }
  const Names& NamesOf(ChannelKind kind) const { return names_[static_cast<std::size_t>(kind)]; }
  void Remove(Client& client, ChannelKind kind, Channel& channel);
  // Visits the patterns whose subscribers get a message on that channel, until `visit` returns
  // false. Charges the meter for the bytes compared.
  void VisitPatternsOf(std::string_view channel,
                       const std::function<bool(const Channel& pattern)>& visit);
  std::size_t PublishByName(std::string_view channel, std::string_view message);
  std::size_t PublishByPattern(std::string_view channel, std::string_view message);
  bool IsTurnSpent() const { return spent_in_turn_ >= kWorkPerTurn || has_deferred(); }
  void PublishOrDefer(std::string_view channel, std::string_view message);
  void CloseCostliest();
  const Channel* Find(ChannelKind kind, std::string_view name) const;
  std::size_t Deliver(const Channel& channel, Encoding& encoding);
  static void DeliverGrant(const Channel& channel, Encoding& encoding, const DeliveredGrant& grant,
                           bool is_shared);

  WorkMeter& meter_;
  std::array<Names, kChannelKinds> names_;
  PatternList patterns_;  // the patterns among names_
  std::deque<DeferredMessage> deferred_;
  std::size_t deferred_bytes_ = 0;
  std::uint64_t spent_in_turn_ = 0;
  std::vector<ChannelObserver*> observers_;
  std::size_t subscriptions_max_ = 10'000;
  bool lock_events_to_all_patterns_ = false;
  bool notify_reaches_shards_ = false;
};

}  // namespace fairlock::command
