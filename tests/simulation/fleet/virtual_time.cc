#include "tests/simulation/fleet/virtual_time.h"

#include <ucontext.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace fairlock::fleet {

namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10;

Scheduler* scheduler = nullptr;

}  // namespace

class Fiber {
 public:
  ucontext_t context{};
  ucontext_t back{};
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
  Process* process = nullptr;
  std::function<void()> body;
  std::shared_ptr<bool> has_ended;
  std::uint64_t blocks = 0;  // counts the blocks, so that an old timer does not end a later one
  bool is_blocked = false;
};

Scheduler& Time() {
  assert(scheduler != nullptr);
  return *scheduler;
}

Scheduler::Scheduler() {
  assert(scheduler == nullptr);
  scheduler = this;
}

Scheduler::~Scheduler() {
  assert(idle_.size() == fibers_.size());
  scheduler = nullptr;
}

void Scheduler::At(TimeUs when, std::function<void()> action) {
  events_.push({std::max(when, now_), next_number_++, std::move(action)});
}

Fiber* Scheduler::Spawn(Process& process, std::function<void()> body,
                        std::shared_ptr<bool> has_ended) {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>());
    idle_.push_back(fibers_.back().get());
  }
  Fiber* const fiber = idle_.back();
  idle_.pop_back();
  fiber->process = &process;
  fiber->body = std::move(body);
  fiber->has_ended = std::move(has_ended);
  process.fibers.push_back(fiber);
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->stack.get();
  fiber->context.uc_stack.ss_size = kStackBytes;
  fiber->context.uc_link = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(fiber);
  // makecontext passes only ints.
  makecontext(&fiber->context, reinterpret_cast<void (*)()>(&Scheduler::Enter), 2,
              static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
  fiber->is_blocked = true;
  Ready(*fiber);
  return fiber;
}

void Scheduler::Enter(unsigned high, unsigned low) {
  auto* const fiber = reinterpret_cast<Fiber*>((std::uintptr_t{high} << 32) | low);
  fiber->body();
  Time().End(*fiber);
}

void Scheduler::End(Fiber& fiber) {
  *fiber.has_ended = true;
  std::erase(fiber.process->fibers, &fiber);
  fiber.body = nullptr;
  fiber.has_ended.reset();
  ++fiber.blocks;
  idle_.push_back(&fiber);
  // Wakes the fibers that wait for the end.
  for (Fiber* other : std::vector<Fiber*>(fiber.process->fibers)) Ready(*other);
  setcontext(&fiber.back);
}

void Scheduler::Ready(Fiber& fiber) {
  if (!std::exchange(fiber.is_blocked, false)) return;
  if (fiber.process->is_paused) {
    fiber.process->parked.push_back(&fiber);
  } else {
    ready_.push_back(&fiber);
  }
}

void Scheduler::Resume(Fiber& fiber) {
  // The process was paused after the fiber became ready.
  if (fiber.process->is_paused) return fiber.process->parked.push_back(&fiber);
  Fiber* const before = std::exchange(current_, &fiber);
  swapcontext(&fiber.back, &fiber.context);
  current_ = before;
}

void Scheduler::RunReady() {
  while (!ready_.empty()) {
    for (Fiber* fiber : std::exchange(ready_, {})) Resume(*fiber);
  }
}

void Scheduler::RunUntil(TimeUs end, const std::function<bool()>& is_over) {
  RunReady();
  while (!events_.empty() && events_.top().when <= end && !is_over()) {
    const auto action = std::move(const_cast<Event&>(events_.top()).action);
    now_ = events_.top().when;
    events_.pop();
    action();
    RunReady();
  }
  if (!is_over()) now_ = std::max(now_, end);
}

void Scheduler::Continue(Process& process) {
  process.is_paused = false;
  // After a pause, threads continue in an arbitrary order.
  if (++continued_ % 2 == 0) std::ranges::reverse(process.parked);
  for (Fiber* fiber : std::exchange(process.parked, {})) ready_.push_back(fiber);
}

void Scheduler::Kill(Process& process) {
  process.is_dead = true;
  Continue(process);
  for (Fiber* fiber : process.fibers) Ready(*fiber);
}

Process& Scheduler::current_process() { return *current_->process; }

void Scheduler::Block() {
  Fiber& fiber = *current_;
  ++fiber.blocks;
  fiber.is_blocked = true;
  swapcontext(&fiber.context, &fiber.back);
}

void Scheduler::BlockUntil(TimeUs when) {
  Fiber& fiber = *current_;
  At(when, [this, &fiber, blocks = fiber.blocks + 1] {
    if (fiber.blocks == blocks) Ready(fiber);
  });
  Block();
}

void Scheduler::SleepUntil(TimeUs when) {
  while (now_ < when && !current_->process->is_dead) BlockUntil(when);
}

}  // namespace fairlock::fleet
