// What the clients were told, and the judgement of each further answer by the promises made to
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/call.h"
#include "tests/simulation/override_book.h"
#include "tests/simulation/setting.h"

namespace fairlock::simulation {

// Predicts nothing and follows the engine's word; independent of the reference
// model. Promises:
//  1. Tokens rise over everything.
//  2. A hold is granted only if all holds of the key tolerate it (one exclusive
//  holder, or n, or all
//     SHARED), and the rooms that MINHOLD still keeps.
//  3. Nobody passes in line: neither one who waits, nor an absent one for whom
//  KEEP stands in line
//     unless there is room for both. Who comes back finds its place.
//  4. No lease, session, wait or KEEP ends early, and after a command nothing
//  that is over is left
//     on its key.
//  5. Each request that waits gets one answer, of a kind that has a cause;
//  nobody else gets any.
//  6. WAIT key is answered when no hold of its time remains, neither before nor
//  after.
//  7. After a command nobody is left waiting, and nobody is denied, who could
//  be granted.
//  8. An operator's override of LIMIT is in force from its begin to its end, on
//  the keys that it matches; when it changes nobody is left waiting, and a drain
//  lets nobody new in.
//  9. A line is no longer than MAXWAITERS allows, and REPLACE ends the newest
//  place.
class Ledger {
 public:
  struct Hold {
    int owner = kAbsent;
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
  };
  enum class PlaceState : std::uint8_t { kWaiting, kSuperseded, kKept, kPassedOver };
  struct Place {
    int owner = kAbsent;
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

  const Key& key(int index) const { return keys_[static_cast<std::size_t>(index)]; }
  std::optional<std::string> ObserveUndo(int key, Token token, const Outcome& outcome, TimeMs now);
  bool IsWaiting(int connection) const;
  // When the next lease or wait ends.
  TimeMs NextDeadline() const;
  // One of the last tokens that were given.
  Token EarlierToken(std::size_t back) const;
  Token newest_token() const { return newest_token_; }

 private:
  void Judge(const Answer& answer, TimeMs now);
  void JudgePlaceAnswer(const Answer& answer, Key& key, std::size_t index, TimeMs now);
  void JudgeWatcherAnswer(const Answer& answer, Key& key, std::size_t index, TimeMs now);
  void JudgeGrantAfterWait(const Answer& answer, Key& key, std::size_t index, TimeMs now);
  void JudgeResult(TimeMs now);
  void JudgeLock(Key& key, TimeMs now);
  void JudgeLockGranted(Key& key, TimeMs now);
  void JudgeQueued(Key& key, TimeMs now);
  void JudgeUnlock(Key& key, TimeMs now);
  void JudgeRenew(Key& key, TimeMs now);
  void JudgeWait(Key& key, TimeMs now);
  void JudgeCancel(Key& key);
  void JudgeTransfer(Key& key, TimeMs now);
  void JudgeBreak(Key& key);
  void JudgeLook(const Key& key);
  void CheckSettled(const Key& key, TimeMs now);
  void ObserveSetting(const Call& call, const Outcome& outcome, TimeMs now);
  void EndOverrides(TimeMs now);
  void NoteLimits();

  // Before the answers: what the command ended without a word.
  void ForgetAbsent(Key& key);
  void ForgetAbsentOf(Key& key, int owner);
  // False: nothing keeps the place.
  bool LoseRequest(Place& place, TimeMs now) const;
  // True: one that is over may be there yet, and then its key is settled.
  bool LoseSessionsOf(int connection, TimeMs now, std::vector<Key*>& touched);
  Hold HoldFor(const Place& place, Token token, TimeMs now) const;
  Place PlaceFor(const Call& call, TimeMs now) const;
  // The rooms that are certainly taken: by holds and MINHOLD.
  std::vector<engine::Mode> RoomsOf(const Key& key, TimeMs now) const;
  bool IsRoomTaken(const Hold& hold, TimeMs now) const;
  void CheckNobodyIsPassed(const Key& key, std::size_t index, const engine::Mode& mode, TimeMs now);
  void CheckDenied(const Key& key, TimeMs now);
  void CheckWaitersMax(const Key& key);
  void JudgeAlready(Key& key, TimeMs now);
  void AddHold(Key& key, const Hold& hold, TimeMs now);
  bool IsLeaving(const Hold& hold) const;
  bool GivesToken() const;
  void SetWaiting(int connection, bool is_waiting);
  void Require(bool is_kept, const char* promise);
  std::optional<std::string> End();

  std::vector<Key> keys_;
  DurationMs default_lease_ms_;
  DurationMs reconnect_grace_ms_;
  OverrideBook overrides_;
  std::uint64_t next_arrival_ = 1;
  Token newest_token_;
  std::vector<Token> recent_tokens_;  // a ring
  std::size_t tokens_given_ = 0;
  std::vector<bool> is_waiting_;  // by connection

  // Of the step that is being judged.
  const Call* call_ = nullptr;  // null: no command
  const Outcome* outcome_ = nullptr;
  int unblocked_ = kAbsent;  // the connection whose wait is ended
  bool was_cancelled_ = false;
  const char* broken_ = nullptr;
};

}  // namespace fairlock::simulation
