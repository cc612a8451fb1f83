// What a lock is asked for, and the commands that ask for it.
#pragma once

#include <string>
#include <vector>

#include "fairlock/client.h"
#include "resp.h"

namespace fairlock::client {

inline std::string Milliseconds(Duration time) {
  return std::to_string(std::max<Duration::rep>(1, time.count()));
}

struct Terms {
  std::vector<std::string> keys;
  std::string owner;
  LockOptions options;
  // The program named the owner, so a message may still be about an earlier wait of the same owner.
  bool is_named = false;

  [[nodiscard]] Command AboutKeys(const std::string& name) const {
    Command command{name, keys.front(), owner};
    if (keys.size() > 1) {
      command = {"M" + name, std::to_string(keys.size())};
      command.insert(command.end(), keys.begin(), keys.end());
      command.push_back(owner);
    }
    return command;
  }

  // Without a channel, the request does not wait.
  [[nodiscard]] Command Lock(const std::optional<Duration>& wait,
                             const std::string& channel) const {
    Command command = AboutKeys("LOCK");
    const auto add = [&command](std::initializer_list<std::string> words) {
      command.insert(command.end(), words);
    };
    add({"PX", Milliseconds(options.lease), "EXPLAIN"});
    if (!channel.empty()) {
      add({"WAIT", wait ? Milliseconds(*wait) + "ms" : "FOREVER", "NOTIFY", channel});
    }
    if (options.shared) add({"SHARED"});
    if (options.limit) add({"LIMIT", std::to_string(*options.limit)});
    if (options.max_waiters) add({"MAXWAITERS", std::to_string(*options.max_waiters)});
    if (options.keep) add({"KEEP", Milliseconds(*options.keep) + "ms"});
    if (options.min_hold) add({"MINHOLD", Milliseconds(*options.min_hold) + "ms"});
    if (!options.meta.empty()) add({"META", options.meta});
    if (!options.label.empty()) add({"LABEL", options.label});
    return command;
  }

  // With GT, it never shortens a lease, even if it arrives after a newer one.
  [[nodiscard]] Command Renew(std::int64_t token, Duration lease) const {
    Command command = AboutKeys("RENEW");
    command.insert(command.end(),
                   {"PX", Milliseconds(lease), "TOKEN", std::to_string(token), "GT"});
    return command;
  }

  // Without a token, it also gives up the owner's place in the queue.
  [[nodiscard]] Command Unlock(std::optional<std::int64_t> token = {}) const {
    Command command = AboutKeys("UNLOCK");
    if (token) command.insert(command.end(), {"TOKEN", std::to_string(*token)});
    return command;
  }

  // Nil if the owner does not wait.
  [[nodiscard]] Command Position() const { return {"POSITION", keys.front(), owner}; }

  [[nodiscard]] Command Info() const { return {"LOCKINFO", keys.front()}; }

  [[nodiscard]] Command Transfer(std::int64_t token, const std::string& new_owner,
                                 Duration lease) const {
    return {"TRANSFER", keys.front(),        owner,   new_owner,
            "PX",       Milliseconds(lease), "TOKEN", std::to_string(token)};
  }
};

}  // namespace fairlock::client
