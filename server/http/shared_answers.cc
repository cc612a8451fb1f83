#include "server/http/shared_answers.h"

#include <algorithm>
#include <string>
#include <utility>

namespace fairlock::http {

struct SharedAnswers::Running {
  std::uint64_t generation = 0;  // AccessControl::generation() when the work began
  std::unique_ptr<SharedWork> work;
  std::optional<Answer> answer;
  std::uint64_t last_turn = 0;
  std::uint64_t busy_ns = 0;
  engine::TimeMs done_at = 0;
  std::uint64_t done_ns = 0;

  void Advance(CommandCaller& commands, engine::TimeMs now) {
    command::ServerParts& server = commands.server();
    const std::uint64_t turn = server.statistics.counters.turns;
    if (answer || (busy_ns != 0 && turn == last_turn)) return;
    last_turn = turn;
    const std::uint64_t began_ns = server.environment.clock.MonotonicNs();
    answer = work->Step(commands, now);
    busy_ns += std::max<std::uint64_t>(server.environment.clock.MonotonicNs() - began_ns, 1);
    if (!answer) return;
    done_at = now;
    done_ns = server.environment.clock.MonotonicNs();
    work.reset();
  }

  // `now` stands still while etcd does not confirm that this node leads.
  bool IsFresh(engine::DurationMs age_ms_max, engine::TimeMs now, std::uint64_t now_ns) const {
    const auto paused_ms = static_cast<engine::DurationMs>(busy_ns / 1'000'000 * kPartOfTime);
    const auto age_ms =
        std::max(now - done_at, static_cast<engine::DurationMs>((now_ns - done_ns) / 1'000'000));
    return answer->status != 200 ? age_ms == 0 : age_ms <= std::max(age_ms_max, paused_ms);
  }
};

// The job of one request that waits for the answer.
class SharedAnswers::Part final : public Job {
 public:
  Part(std::shared_ptr<Running> running, CommandCaller& commands)
      : running_(std::move(running)), commands_(commands) {}

  std::optional<Answer> Step(engine::TimeMs now) override {
    // The permissions have changed, so the walk would now give a different answer.
    if (running_->generation != commands_.server().access.generation()) {
      return Refusal(503, "TRYAGAIN", "the users have changed in the meantime; try again");
    }
    running_->Advance(commands_, now);
    return running_->answer;
  }

 private:
  const std::shared_ptr<Running> running_;
  CommandCaller& commands_;
};

std::shared_ptr<SharedAnswers::Running> SharedAnswers::Find(const std::string& question,
                                                            engine::DurationMs age_ms_max,
                                                            const RouteCall& call) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.question == question; });
  if (found == entries_.end()) return nullptr;
  std::shared_ptr<Running> running = found->running;
  const std::uint64_t now_ns = call.commands.server().environment.clock.MonotonicNs();
  if (!running->answer || running->IsFresh(age_ms_max, call.now, now_ns)) return running;
  entries_.erase(found);
  return nullptr;
}

Outcome SharedAnswers::Take(const std::string& question, engine::DurationMs age_ms_max,
                            const RouteCall& call, const Make& make) {
  // Unlimited users share one answer; a limited user gets one made under its own permissions.
  const access::User& user = call.commands.user();
  const std::uint64_t generation = call.commands.server().access.generation();
  const std::string asked =
      std::to_string(generation) + '\0' + (user.IsUnlimited() ? "" : user.name) + '\0' + question;
  std::shared_ptr<Running> running = Find(asked, age_ms_max, call);
  if (running == nullptr) {
    running = std::make_shared<Running>();
    running->generation = generation;
    running->work = make();
    if (entries_.size() == kAnswersMax) entries_.erase(entries_.begin());
    entries_.push_back({asked, running});
  }
  if (running->answer) return *running->answer;
  return std::make_unique<Part>(std::move(running), call.commands);
}

}  // namespace fairlock::http
