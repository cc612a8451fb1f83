// Walks over all locks, one page per turn.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/http/command_caller.h"

namespace fairlock::http {

// Uses the command LOCKS. Loop-confined.
class LockWalk {
 public:
  // The number of locks examined per turn. This many take a few hundredths of a millisecond, which
  // hardly delays requests.
  static constexpr const char* kLocksPerStep = "20";

  // `options` are those of LOCKS, such as MATCH and its glob.
  explicit LockWalk(std::vector<std::string> options) : options_(std::move(options)) {}

  // Visits the rows of the next page; returns true after the last page. An error ends the walk too.
  bool Step(CommandCaller& commands, engine::TimeMs now,
            const std::function<void(protocol::Reply& row)>& visit);
  const std::optional<protocol::Reply>& error() const { return error_; }

 private:
  std::vector<std::string> options_;
  std::string cursor_ = "0";
  std::optional<protocol::Reply> error_;
};

}  // namespace fairlock::http
