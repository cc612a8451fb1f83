// Answers that need a walk over everything, made once for all requests that come meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/http/command_caller.h"
#include "server/http/route.h"

namespace fairlock::http {

// Work that takes several turns, with a bounded step in each.
class SharedWork {
 public:
  virtual ~SharedWork() = default;
  // None: not done yet.
  virtual std::optional<Answer> Step(CommandCaller& commands, engine::TimeMs now) = 0;
};

// Of each question at most one walk is under way, which makes one step a turn, however many wait
// for it; and its answer is given again until it is too old: so many dashboards cost what one
// costs. Loop-confined.
class SharedAnswers {
 public:
  static constexpr std::size_t kAnswersMax = 32;
  static constexpr engine::DurationMs kWalkAgeMsMax =
      500;  // what a page asks for that costs a walk
  // An answer that took long is good for longer: of each question, walks take at most this part of
  // the time.
  static constexpr int kPartOfTime = 40;

  using Make = std::function<std::unique_ptr<SharedWork>()>;
  // `question` says all that the answer depends on, besides time and the permissions of who asks.
  // An answer may be so old.
  Outcome Take(const std::string& question, engine::DurationMs age_ms_max, const RouteCall& call,
               const Make& make);

 private:
  struct Running;
  class Part;
  struct Entry {
    std::string question;
    std::shared_ptr<Running> running;
  };

  std::shared_ptr<Running> Find(const std::string& question, engine::DurationMs age_ms_max,
                                engine::TimeMs now);

  std::vector<Entry> entries_;  // the newest last
};

}  // namespace fairlock::http
