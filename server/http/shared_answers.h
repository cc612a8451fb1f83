// Shares answers that need a walk over everything: each is made once for all requests that arrive
// in the meantime.
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
  // Returns nullopt while there is more to do.
  virtual std::optional<Answer> Step(CommandCaller& commands, engine::TimeMs now) = 0;
};

// For each question at most one walk runs, with one step per turn, however many requests wait for
// it. Its answer is reused until it is too old, so that many dashboards cost no more than one.
// Loop-confined.
class SharedAnswers {
 public:
  static constexpr std::size_t kAnswersMax = 32;
  static constexpr engine::DurationMs kWalkAgeMsMax =
      500;  // maximum age of reused answers for pages that need a walk
  // An answer that took longer to make is reused for longer, so that the walks for one question
  // take at most 1/kPartOfTime of the time.
  static constexpr int kPartOfTime = 40;

  using Make = std::function<std::unique_ptr<SharedWork>()>;
  // `question` must contain everything that the answer depends on, except time and the user's
  // permissions. A reused answer is at most `age_ms_max` old.
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
                                const RouteCall& call);

  std::vector<Entry> entries_;  // newest last
};

}  // namespace fairlock::http
