// Answers that need a walk over everything, made once for all requests that arrive in the meantime.
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
      500;  // age of answers for pages that need a walk
  // An answer that took longer is reused for longer: for each question, walks take at most one
  // kPartOfTime-th of the time.
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
                                engine::TimeMs now);

  std::vector<Entry> entries_;  // newest last
};

}  // namespace fairlock::http
