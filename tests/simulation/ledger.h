// What the clients were told, and the judgement of each further answer by the promises made to
// them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/call.h"
#include "tests/simulation/override_book.h"
#include "tests/simulation/setting.h"
#include "tests/simulation/stuck_requests.h"

namespace fairlock::simulation {

// Predicts nothing and follows the engine's word; independent of the reference model. Promises:
//  1. Tokens rise over everything.
//  2. A hold is granted only if all holds of the key tolerate it (one exclusive holder, or n, or
//     all SHARED), and the rooms that MINHOLD still keeps.
//  3. Nobody passes in line: neither one who waits, nor an absent one for whom KEEP stands in line
//     unless there is room for both. Who comes back finds its place.
//  4. No lease, session, wait or KEEP ends early, and after a command nothing that is over is left
//     on its key.
//  5. Each request that waits gets one answer, of a kind that has a cause; nobody else gets any.
//  6. WAIT key is answered when no hold of its time remains, neither before nor after.
//  7. After a command nobody is left waiting, and nobody is denied, who could be granted.
//  8. An operator's override of LIMIT is in force from its begin to its end, on the keys that it
//     matches; when it changes nobody is left waiting, and a drain lets nobody new in.
//  9. A line is no longer than MAXWAITERS allows, and REPLACE ends the newest place.
// 10. An MLOCK holds all of its keys, under one token, or none; its place is one in all its lines.
// 11. No wait begins that would never end because others never end for it, and only such a one is
//     refused; the chain that is named for it is true.
// 12. What a step frees is handed over in its end, and not before.
class Ledger {
 public:
  struct Hold {
    int owner = kAbsent;
    std::vector<int> keys{};  // that were granted with it
    bool is_mlock = false;
    Token token = 0;
    engine::Mode mode;
    DurationMs lease_ms = 0;  // 0: none
    TimeMs lease_end = 0;
    TimeMs end = 0;  // the lease's, or the grace's
    std::optional<DurationMs> session_grace_ms;
    int session_connection = kAbsent;
    TimeMs cool_until = 0;      // MINHOLD; 0: none
    std::uint64_t arrival = 0;  // of the place that it came from; 0: none
    DurationMs keep_ms = 0;     // of that place
    bool is_confirmed = false;
    bool is_leaving = false;  // the command that is judged ends it
  };
  enum class PlaceState : std::uint8_t { kWaiting, kSuperseded, kKept, kPassedOver };
  // Of MLOCK the same on each of its keys.
  struct Place {
    int owner = kAbsent;
    std::vector<int> keys{};
    bool is_mlock = false;
    std::uint64_t arrival = 0;
    PlaceState state = PlaceState::kWaiting;
    int connection = kAbsent;
    engine::Mode mode;
    DurationMs lease_ms = 0;
    DurationMs keep_ms = 0;
    std::optional<DurationMs> session_grace_ms;
    DurationMs min_hold_ms = 0;
    TimeMs end = 0;  // of WAIT, KEEP or grace

    bool is_absent() const {
      return state == PlaceState::kKept || state == PlaceState::kPassedOver;
    }
  };
  struct Cooling {
    engine::Mode mode;
    TimeMs end = 0;
  };
  struct Watcher {
    int connection = kAbsent;
    Token newest_token = 0;
    TimeMs give_up = 0;
  };
  struct Key {
    std::optional<std::uint32_t> limit_override;
    std::vector<Hold> holds;
    std::vector<Place> line;  // in the order of arrival
    std::vector<Cooling> cooling;
    std::vector<Watcher> watchers;
  };

  explicit Ledger(const Setting& setting);

  // Each returns the first broken promise, or nothing.
  std::optional<std::string> Observe(const Call& call, const Outcome& outcome, TimeMs now);
  std::optional<std::string> ObserveAdvance(const Outcome& outcome, bool is_done, TimeMs now);
  std::optional<std::string> ObserveUnblock(int connection, const Outcome& outcome, TimeMs now);
  std::optional<std::string> ObserveDisconnect(int connection, const Outcome& outcome, TimeMs now);

  // Until ObserveStepEnd the commands are one step.
  void BeginStep() { is_in_step_ = true; }
  std::optional<std::string> ObserveStepEnd(const Outcome& outcome, TimeMs now);

  const Key& key(int index) const { return keys_[static_cast<std::size_t>(index)]; }
  std::optional<std::string> ObserveUndo(Token token, const Outcome& outcome, TimeMs now);
  bool IsWaiting(int connection) const;
  // What the owner's MLOCK on that key named; empty: it has none there.
  std::vector<int> KeysOfMlock(int key, int owner) const;
  // When the next lease or wait ends.
  TimeMs NextDeadline() const;
  // One of the last tokens that were given.
  Token EarlierToken(std::size_t back) const;
  Token newest_token() const { return newest_token_; }

 private:
  using Keys = std::vector<int>;

  // Answers to those who waited (ledger_answers.cc).
  void Judge(const Answer& answer, TimeMs now);
  void JudgePlaceAnswer(const Answer& answer, const Place& place, TimeMs now);
  void JudgeGrantAfterWait(const Answer& answer, const Place& place, TimeMs now);
  void JudgeTimeOut(const Place& place, TimeMs now);
  void JudgeReplaced(const Answer& answer, const Place& place);
  void JudgeWatcherAnswer(const Answer& answer, Key& key, std::size_t index, TimeMs now);
  bool IsCancelled(const Place& place) const;

  // Results of commands (ledger_results.cc).
  void JudgeResult(TimeMs now);
  void JudgeLock(TimeMs now);
  void JudgeLockDenied(bool is_held, TimeMs now);
  void JudgeLockGranted(TimeMs now);
  void JudgeQueued(TimeMs now);
  void JudgeDeadlock(TimeMs now);
  WaitPicture Picture(TimeMs now) const;
  std::vector<Place> PlacesToReplace() const;
  static bool IsTrue(const WaitPicture& picture, const DeadlockLink& link);
  void JudgeAlready(Hold& hold, TimeMs now);
  void JudgeUnlock(TimeMs now);
  void JudgeRenew(TimeMs now);
  void JudgeWait(Key& key, TimeMs now);
  void JudgeCancel(Key& key);
  void JudgeTransfer(Key& key, TimeMs now);
  void JudgeBreak(Key& key);
  void JudgeLook(const Key& key);
  bool HasOtherStake(int key) const;
  bool MayBeGranted(int key, TimeMs now) const;
  void CheckDenied(TimeMs now);
  void CheckWaitersMax(const Key& key);

  // Before a command's answers: which holds it ends, and what it ends without a word.
  void MarkLeaving();
  bool IsLeaving(const Hold& hold, bool is_part) const;
  void ReleaseLeaving(Key& key, TimeMs now);
  void ForgetAbsent();
  void ForgetAbsentOf(int key, int owner);

  bool IsAnythingOver(const Keys& keys, TimeMs now) const;
  // All keys on which something can happen when something does on these: they share an MLOCK.
  Keys Reach(Keys keys) const;
  // These, and the keys of MLOCKs whose place on them is over: nothing on them is overdue now.
  Keys DropOverdueOn(Keys keys, TimeMs now);
  void CheckSettled(const Keys& keys, TimeMs now);
  void ObserveSetting(const Call& call, const Outcome& outcome, TimeMs now);
  void EndOverrides(TimeMs now);
  void NoteLimits();
  bool IsLeftWaiting(const Place& place, const Keys& settled, TimeMs now) const;
  void RemovePlace(const Place& place);
  // False: nothing keeps the place.
  bool LoseRequest(Place& place, TimeMs now) const;
  void LoseSessionsOf(int connection, TimeMs now, Keys& touched);
  Hold HoldFor(const Place& place, Token token, TimeMs now) const;
  Place PlaceFor(const Call& call, TimeMs now) const;
  // The rooms that are certainly taken: by holds and MINHOLD. On a key that is not settled what is
  // over may be there yet.
  std::vector<engine::Mode> RoomsOf(const Key& key, TimeMs now, bool is_settled = true) const;
  bool IsRoomTaken(const Hold& hold, TimeMs now, bool is_settled) const;
  void CheckNobodyIsPassed(const Key& key, std::size_t index, const engine::Mode& mode, TimeMs now);
  void NoteToken(Token token);
  void AddHold(int key, Hold hold, TimeMs now);
  void ConfirmAll(Token token);
  // Whether the command that is judged gave one.
  bool GivesToken() const;
  void SetWaiting(int connection, bool is_waiting);
  void Require(bool is_kept, const char* promise);
  std::optional<std::string> End();

  Key& At(int key) { return keys_[static_cast<std::size_t>(key)]; }
  const Key& At(int key) const { return keys_[static_cast<std::size_t>(key)]; }

  const Setting& setting_;
  std::vector<Key> keys_;
  DurationMs default_lease_ms_;
  DurationMs reconnect_grace_ms_;
  OverrideBook overrides_;
  std::uint64_t next_arrival_ = 1;
  Token newest_token_;
  std::array<Token, 16> recent_tokens_{};  // a ring
  std::size_t tokens_given_ = 0;
  std::vector<bool> is_waiting_;  // by connection

  // Of the step that is being judged.
  const Call* call_ = nullptr;  // null: no command
  const Outcome* outcome_ = nullptr;
  int unblocked_ = kAbsent;  // the connection whose wait is ended
  bool was_cancelled_ = false;
  bool is_in_step_ = false;
  bool may_hand_over_ = true;  // in a step: something was overdue at its begin
  Keys step_keys_;             // that were named in the step
  const char* broken_ = nullptr;
};

}  // namespace fairlock::simulation
