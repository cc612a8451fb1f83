// Virtual time, and the threads of the simulated processes as fibers in it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace fairlock::fleet {

using TimeUs = std::int64_t;
inline constexpr TimeUs kMs = 1'000;
inline constexpr TimeUs kSecond = 1'000'000;

class Fiber;

// A simulated process. Its fibers stand still while it is paused. After it was killed, they run
// only until they end, and nothing that they do leaves the process.
struct Process {
  std::string name;
  bool is_paused = false;
  bool is_dead = false;
  std::vector<Fiber*> fibers = {};  // the fibers that have not ended
  std::vector<Fiber*> parked = {};  // the fibers that continue when the pause ends
};

// Runs fibers and actions one at a time, ordered by their time, so that a run depends only on its
// seed. Fibers yield only where they block.
class Scheduler {
 public:
  Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler();  // REQUIRES: every fiber has ended

  TimeUs now() const { return now_; }
  void At(TimeUs when, std::function<void()> action);
  void After(TimeUs delay, std::function<void()> action) { At(now_ + delay, std::move(action)); }
  // Runs everything that is due up to that time, or until `is_over` returns true.
  void RunUntil(TimeUs end, const std::function<bool()>& is_over);

  // The fiber becomes invalid when it ends, which sets `has_ended`.
  Fiber* Spawn(Process& process, std::function<void()> body, std::shared_ptr<bool> has_ended);
  void Pause(Process& process) { process.is_paused = true; }
  void Continue(Process& process);
  void Kill(Process& process);

  // Only fibers may call these. They may return early and without cause, so the caller must check
  // again what it waits for.
  void Block();
  void BlockUntil(TimeUs when);
  void Ready(Fiber& fiber);
  Fiber* current() { return current_; }
  Process& current_process();
  // Also returns when the process is killed.
  void SleepUntil(TimeUs when);

 private:
  struct Event {
    TimeUs when = 0;
    std::uint64_t number = 0;
    std::function<void()> action;
    friend bool operator<(const Event& one, const Event& other) {
      return std::tie(one.when, one.number) > std::tie(other.when, other.number);
    }
  };

  static void Enter(unsigned high, unsigned low);
  void Resume(Fiber& fiber);
  void RunReady();
  void End(Fiber& fiber);

  TimeUs now_ = 0;
  std::uint64_t next_number_ = 0;
  std::uint64_t continued_ = 0;  // how often a paused process has continued
  std::priority_queue<Event> events_;
  std::vector<Fiber*> ready_;
  std::vector<std::unique_ptr<Fiber>>
      fibers_;  // all fibers ever created; those that ended are reused
  std::vector<Fiber*> idle_;
  Fiber* current_ = nullptr;
};

// Returns the scheduler of the current run.
Scheduler& Time();

}  // namespace fairlock::fleet
