// Commands for channels: subscribing, publishing, and counting subscribers.

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "server/command/handlers/command_costs.h"
#include "server/command/handlers/command_families.h"
#include "server/command/handlers/shared_replies.h"
#include "server/command/server_parts.h"
#include "server/command/table/command_docs.h"
#include "server/command/table/glob_walk.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;

std::size_t CountSubscriptions(const Client& client) {
  return client.subscriptions == nullptr ? 0 : client.subscriptions->size();
}

// Returns the count that a confirmation shows: as in Redis, shard channels are counted separately.
std::int64_t CountConfirmed(const Client& client, ChannelKind kind) {
  if (client.subscriptions == nullptr) return 0;
  const std::size_t shard = client.subscriptions->of(ChannelKind::kShard).size();
  return static_cast<std::int64_t>(
      kind == ChannelKind::kShard ? shard : client.subscriptions->size() - shard);
}

// Confirms one change to the client's subscriptions.
void Confirm(Invocation& call, ChannelKind kind, std::string_view word,
             const std::string_view* name) {
  call.reply.PushHeader(3);
  call.reply.Bulk(word);
  if (name == nullptr) {
    call.reply.Null();
  } else {
    call.reply.Bulk(*name);
  }
  call.reply.Integer(CountConfirmed(call.client, kind));
}

// Returns the error for a name that is too long; empty if it is not.
std::string DescribeLongName(ChannelKind kind, std::string_view name) {
  if (kind == ChannelKind::kPattern) return DescribeLongGlob("PSUBSCRIBE", name);
  if (name.size() <= Channels::kNameBytesMax) return "";
  return "channel must have at most " + std::to_string(Channels::kNameBytesMax) + " bytes, got " +
         std::to_string(name.size());
}

// Returns false after sending an error.
bool MayAddPatterns(Invocation& call, std::span<const std::string_view> patterns) {
  const Channels& channels = call.server.channels;
  const Subscriptions* present = call.client.subscriptions.get();
  std::size_t bytes = present == nullptr ? 0 : present->pattern_bytes;
  std::uint64_t cost = present == nullptr ? 0 : present->pattern_cost;
  const std::uint64_t present_cost = cost;
  std::set<std::string_view> seen;
  for (const std::string_view pattern : patterns) {
    const bool is_new = seen.insert(pattern).second &&
                        !channels.IsSubscribed(call.client, ChannelKind::kPattern, pattern);
    if (!is_new) continue;
    bytes += pattern.size();
    cost += PatternList::CostOf(engine::Glob(pattern));
    if (bytes > Channels::kPatternBytesMax) {
      call.reply.Error(ErrorCode::kFull, "the patterns of one connection must have at most " +
                                             std::to_string(Channels::kPatternBytesMax) +
                                             " bytes together");
      return false;
    }
  }
  const bool is_too_much_of_all =
      channels.all_patterns_cost() + cost - present_cost > Channels::kAllPatternsCostMax;
  if (cost <= Channels::kPatternCostMax && !is_too_much_of_all) return true;
  call.reply.Error(ErrorCode::kFull,
                   std::string("the patterns of ") +
                       (is_too_much_of_all ? "all connections" : "one connection") +
                       " together would take too long to match against each message; use fewer "
                       "patterns with two or more stars");
  return false;
}

// Returns false after sending an error; in that case, nothing has changed.
bool HaveRoom(Invocation& call, ChannelKind kind, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    const std::string mistake = DescribeLongName(kind, name);
    if (mistake.empty()) continue;
    call.reply.Error(ErrorCode::kErr, mistake);
    return false;
  }
  const Channels& channels = call.server.channels;
  const std::size_t subscriptions_max = channels.subscriptions_max();
  const std::size_t present = CountSubscriptions(call.client);
  if (present + names.size() <= subscriptions_max) return true;
  // Names to which the client is already subscribed, or which it repeats, are not counted again.
  std::set<std::string_view> added;
  for (const std::string_view name : names) {
    if (!channels.IsSubscribed(call.client, kind, name)) added.insert(name);
  }
  if (added.empty() || present + added.size() <= subscriptions_max) return true;
  call.reply.Error(ErrorCode::kFull, "this connection has " + std::to_string(present) +
                                         " subscriptions and asks for " +
                                         std::to_string(added.size()) + " more; at most " +
                                         std::to_string(subscriptions_max) +
                                         " (max_subscriptions) are allowed");
  return false;
}

void SubscribeBy(Invocation& call, ChannelKind kind, std::string_view word) {
  const auto names = call.arguments.views().subspan(1);
  if (!HaveRoom(call, kind, names)) return;
  if (kind == ChannelKind::kPattern && !MayAddPatterns(call, names)) return;
  for (const std::string_view name : names) {
    call.server.channels.Subscribe(call.client, kind, name);
    Confirm(call, kind, word, &name);
  }
}

std::vector<std::string> NamesOf(const Client& client, ChannelKind kind) {
  std::vector<std::string> names;
  if (client.subscriptions == nullptr) return names;
  for (const Channel* channel : client.subscriptions->of(kind)) names.emplace_back(channel->name);
  std::sort(names.begin(), names.end());
  return names;
}

void UnsubscribeBy(Invocation& call, ChannelKind kind, std::string_view word) {
  Channels& channels = call.server.channels;
  const auto leave = [&](std::string_view name) {
    channels.Unsubscribe(call.client, kind, name);
    Confirm(call, kind, word, &name);
  };
  const auto names = call.arguments.views().subspan(1);
  if (!names.empty()) {
    std::for_each(names.begin(), names.end(), leave);
    return;
  }
  if (RefusesCost(call)) return;
  const std::vector<std::string> all = NamesOf(call.client, kind);
  if (all.empty()) return Confirm(call, kind, word, nullptr);
  std::for_each(all.begin(), all.end(), leave);
}

void Subscribe(Invocation& call) { SubscribeBy(call, ChannelKind::kExact, "subscribe"); }
void PSubscribe(Invocation& call) { SubscribeBy(call, ChannelKind::kPattern, "psubscribe"); }
void Unsubscribe(Invocation& call) { UnsubscribeBy(call, ChannelKind::kExact, "unsubscribe"); }
void PUnsubscribe(Invocation& call) { UnsubscribeBy(call, ChannelKind::kPattern, "punsubscribe"); }
void SUnsubscribe(Invocation& call) { UnsubscribeBy(call, ChannelKind::kShard, "sunsubscribe"); }

void SSubscribe(Invocation& call) {
  if (call.server.delivery.is_in_step()) {
    return call.reply.Error(ErrorCode::kErr, "SSUBSCRIBE isn't allowed for a DENY BLOCKING client");
  }
  SubscribeBy(call, ChannelKind::kShard, "ssubscribe");
}

// In a step: sends the message after the replies. Returns false after sending an error.
bool HoldOrRefuse(Invocation& call,
                  void (HeldMessages::*hold)(std::string_view, std::string_view)) {
  HeldMessages& messages = call.server.messages;
  if (!messages.HasRoomFor(call.arguments[2].size())) {
    call.reply.Error(ErrorCode::kErr, "the messages of one script or transaction have at most " +
                                          std::to_string(HeldMessages::kPublishedBytesMax >> 20) +
                                          " MiB; publish the rest with another one");
    return false;
  }
  (messages.*hold)(call.arguments[1], call.arguments[2]);
  return true;
}

void Publish(Invocation& call) {
  const std::string_view channel = call.arguments[1];
  if (channel.starts_with(kOwnChannelPrefix)) {
    return call.reply.Error(ErrorCode::kErr,
                            "channel: " + Quoted(channel) +
                                " begins with '__', which is reserved for the server; choose "
                                "another name");
  }
  if (channel.size() > Channels::kNameBytesMax) {
    return call.reply.Error(ErrorCode::kErr, DescribeLongName(ChannelKind::kExact, channel));
  }
  if (RefusesToMatch(call)) return;
  Channels& channels = call.server.channels;
  std::size_t receivers = 0;
  if (call.server.delivery.is_in_step()) {
    // Publishes after the client's replies, so that a message to the client itself does not come
    // between them.
    receivers = channels.CountReceivers(channel);
    if (receivers > 0 && !HoldOrRefuse(call, &HeldMessages::Publish)) return;
  } else {
    receivers = channels.Publish(channel, call.arguments[2]);
  }
  call.reply.Integer(static_cast<std::int64_t>(receivers));
}

// The server publishes nothing on shard channels, so their names are not reserved.
void SPublish(Invocation& call) {
  const std::string_view channel = call.arguments[1];
  Channels& channels = call.server.channels;
  std::size_t receivers = 0;
  if (call.server.delivery.is_in_step()) {
    receivers = channels.CountSubscribers(channel, ChannelKind::kShard);
    if (receivers > 0 && !HoldOrRefuse(call, &HeldMessages::PublishToShard)) return;
  } else {
    receivers = channels.PublishToShard(channel, call.arguments[2]);
  }
  call.reply.Integer(static_cast<std::int64_t>(receivers));
}

// Whether the client may know that the channel has subscribers.
bool MayKnow(const Client& client, ChannelKind kind, std::string_view channel) {
  return !client.rights.is_limited() ||
         AccessControl::MayHear(*client.rights.user(), kind, channel);
}

void ListNamesOf(Invocation& call, ChannelKind kind) {
  if (call.arguments.size() > 3) {
    return call.reply.Error(ErrorCode::kErr,
                            "unknown subcommand or wrong number of arguments for " +
                                Quoted(call.arguments[1], 128) + ". Try PUBSUB HELP.");
  }
  const std::string command =
      kind == ChannelKind::kShard ? "PUBSUB SHARDCHANNELS" : "PUBSUB CHANNELS";
  const auto glob = ReadGlob(call, command, call.arguments.size() == 3 ? call.arguments[2] : "*");
  if (!glob || RefusesToMatch(call) || RefusesCost(call)) return;
  GlobWalk walk(call.server.work, GlobWalk::kWholeWorkMax);
  std::vector<std::string_view> names;
  call.server.channels.VisitNames(kind, [&](std::string_view name) {
    walk.ChargeLook();
    if (glob->Matches(name, walk.compared()) && MayKnow(call.client, kind, name)) {
      names.push_back(name);
    }
    return !walk.is_spent();
  });
  if (walk.is_spent()) {
    return call.reply.Error(ErrorCode::kErr,
                            command +
                                " would take too long with this pattern and these channels; use "
                                "PUBSUB NUMSUB, which checks only the channels it is given");
  }
  call.reply.ArrayHeader(names.size());
  for (const std::string_view name : names) call.reply.Bulk(name);
}

void ListChannels(Invocation& call) { ListNamesOf(call, ChannelKind::kExact); }
void ListShardChannels(Invocation& call) { ListNamesOf(call, ChannelKind::kShard); }

void CountByName(Invocation& call, ChannelKind kind) {
  const auto names = call.arguments.views().subspan(2);
  call.reply.ArrayHeader(names.size() * 2);
  for (const std::string_view name : names) {
    call.reply.Bulk(name);
    const std::size_t subscribers =
        MayKnow(call.client, kind, name) ? call.server.channels.CountSubscribers(name, kind) : 0;
    call.reply.Integer(static_cast<std::int64_t>(subscribers));
  }
}

void CountSubscribers(Invocation& call) { CountByName(call, ChannelKind::kExact); }
void CountShardSubscribers(Invocation& call) { CountByName(call, ChannelKind::kShard); }

void CountPatterns(Invocation& call) {
  const std::size_t patterns = call.server.channels.CountNames(ChannelKind::kPattern);
  call.reply.Integer(static_cast<std::int64_t>(patterns));
}

constexpr std::uint32_t kChange = kPubsub | kWhileConfined | kNoScript;
constexpr std::uint32_t kBegin = kChange | kGrows;

constexpr auto kSubscriptionCommands = std::to_array<CommandSpec>({
    {"SUBSCRIBE",
     Subscribe,
     -2,
     kBegin,
     {},
     "pubsub",
     "channel [channel ...]",
     "Subscribes this connection to these channels; each is confirmed separately",
     "O(channels)"},
    {"UNSUBSCRIBE",
     Unsubscribe,
     -1,
     kChange,
     {},
     "pubsub",
     "[channel ...]",
     "Ends subscriptions to channels, all of them if none is named",
     "O(channels)"},
    {"PSUBSCRIBE",
     PSubscribe,
     -2,
     kBegin,
     {},
     "pubsub",
     "pattern [pattern ...]",
     "Subscribes to all channels whose names match one of the globs; only globs that begin with "
     "__lock@ reach the channels of locks, unless lock_events_to_all_patterns is on",
     "O(patterns)"},
    {"PUNSUBSCRIBE",
     PUnsubscribe,
     -1,
     kChange,
     {},
     "pubsub",
     "[pattern ...]",
     "Ends subscriptions to patterns, all of them if none is named",
     "O(patterns)"},
    {"PUBLISH",
     Publish,
     3,
     kPubsub | kFast,
     {},
     "pubsub",
     "channel message",
     "Sends a message to all current subscribers, and replies with how many there are; channels "
     "that begin with __ are reserved for the server",
     "O(subscribers of the channel + patterns of all connections)"},
    {"SSUBSCRIBE", SSubscribe, -2, kBegin, kEveryShardChannel, "pubsub",
     "shardchannel [shardchannel ...]",
     "Like SUBSCRIBE, but for shard channels: a separate set of names, which only SPUBLISH reaches",
     "O(channels)"},
    {"SUNSUBSCRIBE", SUnsubscribe, -1, kChange, kEveryShardChannel, "pubsub", "[shardchannel ...]",
     "Ends subscriptions to shard channels, all of them if none is named", "O(channels)"},
    {"SPUBLISH", SPublish, 3, kPubsub | kFast, kShardChannel, "pubsub", "shardchannel message",
     "Sends a message to all current subscribers of the shard channel, and replies with how many "
     "there are",
     "O(subscribers of the channel)"},
    {"PUBSUB", nullptr, -2, 0, {}, "pubsub", "", "Tells who listens", "Depends on the subcommand"},
    {"PUBSUB|CHANNELS",
     ListChannels,
     -2,
     kPubsub,
     {},
     "pubsub",
     "[pattern]",
     "The channels that have subscribers, not counting patterns",
     "O(channels)"},
    {"PUBSUB|NUMSUB",
     CountSubscribers,
     -2,
     kPubsub,
     {},
     "pubsub",
     "[channel ...]",
     "Each channel with the number of its subscribers, not counting patterns",
     "O(channels named)"},
    {"PUBSUB|NUMPAT",
     CountPatterns,
     2,
     kPubsub,
     {},
     "pubsub",
     "",
     "How many different patterns have subscribers",
     "O(1)"},
    {"PUBSUB|SHARDCHANNELS",
     ListShardChannels,
     -2,
     kPubsub,
     {},
     "pubsub",
     "[pattern]",
     "The shard channels that have subscribers",
     "O(channels)"},
    {"PUBSUB|SHARDNUMSUB",
     CountShardSubscribers,
     -2,
     kPubsub,
     {},
     "pubsub",
     "[shardchannel ...]",
     "Each shard channel with the number of its subscribers",
     "O(channels named)"},
    {"PUBSUB|HELP", AnswerHelp, 2, 0, {}, "pubsub", "", "Lists the subcommands", "O(1)"},
});

}  // namespace

std::span<const CommandSpec> SubscriptionCommands() { return kSubscriptionCommands; }

}  // namespace fairlock::command
