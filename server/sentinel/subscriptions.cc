#include "server/sentinel/subscriptions.h"

namespace fairlock::sentinel {

bool Subscriptions::Add(std::string_view name, bool is_pattern) {
  if (name.size() > engine::kGlobBytesMax) return false;
  const bool is_known = is_pattern ? patterns_.contains(name) : channels_.contains(name);
  if (is_known) return true;
  if (size() == kNamesMax) return false;
  if (is_pattern) {
    patterns_.emplace(name, engine::Glob(name));
  } else {
    channels_.emplace(name);
  }
  return true;
}

void Subscriptions::Remove(std::string_view name, bool is_pattern) {
  if (is_pattern) {
    if (const auto found = patterns_.find(name); found != patterns_.end()) patterns_.erase(found);
  } else if (const auto found = channels_.find(name); found != channels_.end()) {
    channels_.erase(found);
  }
}

const std::string* Subscriptions::First(bool is_pattern) const {
  if (is_pattern) return patterns_.empty() ? nullptr : &patterns_.begin()->first;
  return channels_.empty() ? nullptr : &*channels_.begin();
}

void Subscriptions::Write(const Message& message, protocol::ReplyWriter& out) const {
  if (channels_.contains(message.channel)) {
    out.PushHeader(3);
    out.Bulk("message");
    out.Bulk(message.channel);
    out.Bulk(message.text);
  }
  for (const auto& [pattern, glob] : patterns_) {
    if (!glob.Matches(message.channel)) continue;
    out.PushHeader(4);
    out.Bulk("pmessage");
    out.Bulk(pattern);
    out.Bulk(message.channel);
    out.Bulk(message.text);
  }
}

}  // namespace fairlock::sentinel
