// The channels and patterns to which one connection on the Sentinel port is subscribed.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "protocol/reply_writer.h"
#include "server/engine/api/glob.h"
#include "server/sentinel/leader_watch.h"

namespace fairlock::sentinel {

// Holds at most kNamesMax names of at most engine::kGlobBytesMax bytes each. Loop-confined.
class Subscriptions {
 public:
  static constexpr std::size_t kNamesMax = 100;

  std::size_t size() const { return channels_.size() + patterns_.size(); }

  // Returns false if the limit on names is reached, or if the name is too long.
  [[nodiscard]] bool Add(std::string_view name, bool is_pattern);
  void Remove(std::string_view name, bool is_pattern);
  // Returns one of the names of that kind, or null if there is none.
  const std::string* First(bool is_pattern) const;

  // Writes the message once for each subscribed channel or pattern that it matches.
  void Write(const Message& message, protocol::ReplyWriter& out) const;

 private:
  std::set<std::string, std::less<>> channels_;
  std::map<std::string, engine::Glob, std::less<>> patterns_;
};

}  // namespace fairlock::sentinel
