// Holds messages back until the requests that caused them have been answered.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "server/command/client/unsent_grants.h"
#include "server/command/pubsub/channels.h"

namespace fairlock::command {

// Copies what it is given. Loop-confined.
class HeldMessages {
 public:
  static constexpr std::size_t kPublishedBytesMax = std::size_t{16} << 20;

  explicit HeldMessages(Channels& channels) : channels_(channels) {}

  void Publish(std::string_view channel, std::string_view message) {
    Add(Way::kPublish, channel, message, {});
  }
  void PublishToShard(std::string_view channel, std::string_view message) {
    Add(Way::kToShard, channel, message, {});
  }
  // As Channels::Notify.
  void Notify(std::string_view channel, std::string_view message, const DeliveredGrant& grant) {
    Add(Way::kNotify, channel, message, grant);
  }

  // Whether a step may publish another message of that size. What it sends at its end delays
  // others.
  bool HasRoomFor(std::size_t message_bytes) const {
    return bytes_.size() + message_bytes <= kPublishedBytesMax;
  }
  bool is_empty() const { return messages_.empty(); }
  std::size_t bytes() const { return bytes_.size(); }
  // Sends all of them, and adds the grants whose messages had no receiver to `undelivered`.
  void Send(std::vector<DeliveredGrant>& undelivered);

 private:
  enum class Way : unsigned char { kPublish, kToShard, kNotify };
  // The bytes are in bytes_: the channel's, followed by the message's.
  struct Held {
    std::size_t channel_bytes;
    std::size_t message_bytes;
    DeliveredGrant grant;
    Way way;
  };

  void Add(Way way, std::string_view channel, std::string_view message,
           const DeliveredGrant& grant);
  void SendOne(const Held& held, std::string_view bytes, std::vector<DeliveredGrant>& undelivered);

  Channels& channels_;
  std::vector<Held> messages_;
  std::string bytes_;
};

}  // namespace fairlock::command
