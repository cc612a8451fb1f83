// Runs the steps of a seed on the engine, the reference model and the ledger, and compares them
// after each step.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "tests/simulation/comparison.h"
#include "tests/simulation/engine_driver.h"
#include "tests/simulation/event_book.h"
#include "tests/simulation/ledger.h"
#include "tests/simulation/random.h"
#include "tests/simulation/reference_model.h"
#include "tests/simulation/setting.h"
#include "tests/simulation/step.h"

namespace fairlock::simulation {

struct Failure {
  // Index in the list; the list's length if the failure came after the last step.
  std::size_t step = 0;
  std::string text;
};

struct RunReport {
  std::optional<Failure> failure;
  // Hash of all calls and outcomes; the same for the same steps of the same seed.
  std::uint64_t trace_hash = 0;
};

// The judges that decide whether a run is correct. Each of them must find the faults of its kind
// even when it is the only one.
struct Judges {
  bool has_model = true;       // the comparison with the reference model
  bool has_ledger = true;      // the promises made to clients
  bool has_invariants = true;  // the engine's own CheckInvariants
};

struct SimulatorOptions {
  Judges judges;
  std::ostream* trace = nullptr;               // one line per step
  std::function<void(std::size_t)> on_step{};  // called before each step with its index
};

// A single run; an object is used only once. It is deterministic, because it depends only on the
// setting and the steps.
class Simulator {
 public:
  Simulator(const Setting& setting, const SimulatorOptions& options);

  // Runs the steps with these indices, in this order.
  RunReport Run(std::span<const Step> steps, std::span<const std::size_t> indices);

 private:
  void Execute(const Step& step);
  std::optional<Call> Resolve(const Step& step);
  static Call ResolveSetting(const Step& step);
  void ResolveOwner(const Step& step, Call& call) const;
  void ResolveKeys(const Step& step, Call& call) const;
  void ResolveOptions(const Step& step, Call& call) const;
  void ResolveToken(const Step& step, Call& call) const;
  void ResolveFlush(const Step& step, Call& call) const;
  static void ResolveRedis(const Step& step, Call& call);
  std::optional<Call> WithConnection(const Step& step, Call call) const;
  void ResolveNotify(const Step& step, Call& call) const;
  std::optional<int> PickFreeConnection(int slot) const;
  int PickAnyConnection(const Step& step) const;
  void MoveTime(const Step& step);
  // Returns the call that a step stands for now, after moving the clock if the step does that;
  // nullopt if the call cannot be made.
  std::optional<Call> Prepare(const Step& step);

  void Perform(const Call& call);
  // The next `commands` commands form one step, unless something else comes first.
  void BeginStep(std::size_t commands);
  void EndStep();
  void NoteDoneInStep(const Call& call);
  void Command(const Call& call);
  void AskLedger(std::optional<std::string> broken_promise);
  void Advance(const Call& call);
  // Lets everything that is overdue happen.
  void SettleAll();
  void Unblock(int connection);
  // Closes a connection that never read its latest `undone` grants.
  void Disconnect(int connection, std::size_t undone);
  void Subscribe(const Call& call);
  void Unsubscribe(const Call& call);
  // Undoes the latest `undone` grants to that connection or channel, which were never read. Returns
  // true on success.
  bool UndoGrantsTo(int connection, std::size_t undone);
  struct Delivery {
    int connection = kAbsent;
    int key = kAbsent;
    Token token = 0;
  };
  // Undoes the grant. Returns how many new grants to the same connection this caused.
  std::size_t UndoGrant(const Delivery& delivery);
  void NoteDeliveries(const Call* call);
  // Repeats in the model what the engine did: first what it answered, in the engine's order, and
  // then what happened without an answer.
  void Follow(bool is_done);
  void FollowAnswer(const Answer& answer);
  // Lets the next due event happen in the model; returns false if nothing is due.
  bool FollowNext();
  bool IsModelBehind(const std::vector<Comparison::Sight>& sights);
  void CompareState(const std::vector<int>& keys);
  void CheckWhoWaits();
  void CheckDeadline();
  void FinishRun();
  // Ends the run with a clean stop, after which clients are told nothing.
  void StopCleanly();
  void BreakEndless();
  void CheckNothingIsLeft();

  void Fail(std::optional<std::string> problem);
  void AddToHash(const Outcome& outcome);

  const Setting& setting_;
  SimulatorOptions options_;
  EngineDriver driver_;
  ReferenceModel model_;
  Ledger ledger_;
  Comparison comparison_;
  EventBook event_book_;
  TimeMs now_;
  TimeMs all_settled_at_ = -1;  // the time at which nothing was overdue on any key
  std::optional<Call> last_request_;
  std::vector<Delivery> deliveries_;  // the latest grants, each with the connection that it went to
  Outcome engine_outcome_;
  Outcome model_outcome_;
  std::size_t expiries_followed_ = 0;  // how many of the engine's expiries the model has repeated
  std::size_t steps_run_ = 0;
  std::vector<bool> is_open_;     // whether each channel is open
  std::size_t left_in_step_ = 0;  // number of commands left; 0 if not within a step
  std::vector<int> step_keys_;    // the keys that were named in the step
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
  std::optional<std::string> problem_;
};

// Runs all steps of the list.
RunReport RunSteps(const Setting& setting, std::span<const Step> steps,
                   const SimulatorOptions& options);

}  // namespace fairlock::simulation
