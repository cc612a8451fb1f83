// The channels and patterns that one connection of the Sentinel port is subscribed to.
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

  // False: the limit on names is reached, or the name is too long.
  [[nodiscard]] bool Add(std::string_view name, bool is_pattern);
  void Remove(std::string_view name, bool is_pattern);
  // One of the names of that kind; null: there is none.
  const std::string* First(bool is_pattern) const;

  // Writes the message once for each name that it fits.
  void Write(const Message& message, protocol::ReplyWriter& out) const;

 private:
  std::set<std::string, std::less<>> channels_;
  std::map<std::string, engine::Glob, std::less<>> patterns_;
};

}  // namespace fairlock::sentinel
