#include "server/command/pubsub/held_messages.h"

namespace fairlock::command {

void HeldMessages::Add(Way way, std::string_view channel, std::string_view message,
                       const DeliveredGrant& grant) {
  messages_.push_back({channel.size(), message.size(), grant, way});
  bytes_.append(channel).append(message);
}

void HeldMessages::Send(std::vector<DeliveredGrant>& undelivered) {
  std::string_view rest = bytes_;
  for (const Held& held : messages_) {
    SendOne(held, rest, undelivered);
    rest.remove_prefix(held.channel_bytes + held.message_bytes);
  }
  messages_.clear();
  // The memory that is retained after a turn. If a step with many events needed more, it is freed.
  constexpr std::size_t kBytesKept = 64 * 1024;
  if (bytes_.capacity() > kBytesKept) {
    std::string().swap(bytes_);
    messages_ = {};
  }
  bytes_.clear();
}

void HeldMessages::SendOne(const Held& held, std::string_view bytes,
                           std::vector<DeliveredGrant>& undelivered) {
  const std::string_view channel = bytes.substr(0, held.channel_bytes);
  const std::string_view message = bytes.substr(held.channel_bytes, held.message_bytes);
  switch (held.way) {
    case Way::kPublish:
      channels_.PublishFromServer(channel, message);
      break;
    case Way::kToShard:
      channels_.PublishToShard(channel, message);
      break;
    case Way::kNotify:
      if (!channels_.Notify(channel, message, held.grant) && held.grant.token != 0) {
        undelivered.push_back(held.grant);
      }
      break;
  }
}

}  // namespace fairlock::command
