// Records what clients were told, and judges each later answer by the promises made to them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/call.h"
#include "tests/simulation/ledger_state.h"
#include "tests/simulation/override_book.h"
#include "tests/simulation/setting.h"
#include "tests/simulation/stuck_requests.h"

namespace fairlock::simulation {

// Predicts nothing: follows the engine's answers, independently of the reference model. The
// promises:
// 1. Tokens increase over all keys.
// 2. A hold is granted only if all other holds of the key tolerate it (it is the only one, or one
//    of at most n, or all are SHARED), and so do the slots in cooldown by MINHOLD.
// 3. No request overtakes another one in the queue, neither a waiter nor an absent waiter with
//    KEEP, unless there are slots for both. A waiter that returns finds its place again.
// 4. No lease, session, wait or KEEP ends early, and after a command nothing is overdue on its key.
// 5. Each waiting request gets exactly one answer, and there is a cause for an answer of that kind.
//    Nobody else gets an answer.
// 6. WAIT key is answered exactly when the last of the holds that existed when it was sent has
//    ended.
// 7. After a command, no request that could be granted is left waiting or denied.
// 8. An operator's override of LIMIT is in force from its start to its end, on the keys that it
//    matches. When it changes, no request that can be granted is left waiting. A drain admits
//    nobody new.
// 9. A queue never becomes longer than MAXWAITERS allows, and REPLACE ends the newest place.
// 10. An MLOCK holds all of its keys, under one token, or none of them; it has one place, which is
//    in the queues of all of them.
// 11. A wait is refused if it could never end because the requests it depends on could never end,
//    and only then; the chain given in the refusal is true.
// 12. What a step frees is handed over when the step ends, and not before.
// 13. A Redis client may use a key to change a hold that was taken by a value, but not one that
//    LOCK has granted or repeated. A value whose SET NX was denied twice within the configured time
//    has a place in the queue, dated from the first denial; no other SET NX has one.
// 14. NOTIFY announces once how the wait has ended, and once that the hold is lost, and nothing
//    else. Its waiters are absent while nobody listens.
// 15. A hold that has notice by BREAK with GRACE ends in time, by force, and nothing postpones
// that.
class Ledger : public LedgerState {
 public:
  explicit Ledger(const Setting& setting);

  // Each returns the first broken promise, or nothing.
  std::optional<std::string> Observe(const Call& call, const Outcome& outcome, TimeMs now);
  std::optional<std::string> ObserveAdvance(const Outcome& outcome, bool is_done, TimeMs now);
  std::optional<std::string> ObserveUnblock(int connection, const Outcome& outcome, TimeMs now);
  std::optional<std::string> ObserveDisconnect(int connection, const Outcome& outcome, TimeMs now);

  // The commands up to ObserveStepEnd form one step.
  void BeginStep() { is_in_step_ = true; }
  // A channel gets its first subscriber, or loses its last one.
  std::optional<std::string> ObserveOpen(int channel, const Outcome& outcome, TimeMs now);
  std::optional<std::string> ObserveClose(int channel, const Outcome& outcome, TimeMs now);

  std::optional<std::string> ObserveStepEnd(const Outcome& outcome, TimeMs now);

  const Key& key(int index) const { return keys_[static_cast<std::size_t>(index)]; }
  std::optional<std::string> ObserveUndo(Token token, const Outcome& outcome, TimeMs now);
  bool IsWaiting(int connection) const;
  // The keys of the owner's MLOCK that includes that key; empty if there is none.
  std::vector<int> KeysOfMlock(int key, int owner) const;
  // When the next lease or wait ends.
  TimeMs NextDeadline() const;
  // One of the most recent tokens.
  Token EarlierToken(std::size_t back) const;
  Token newest_token() const { return newest_token_; }

 private:
  using Keys = std::vector<int>;

  // Answers to waiting requests (ledger_answers.cc).
  void Judge(const Answer& answer, TimeMs now);
  void JudgePlaceAnswer(const Answer& answer, const Place& place, TimeMs now);
  void JudgeGrantAfterWait(const Answer& answer, const Place& place, TimeMs now);
  void JudgeTimeOut(const Place& place, TimeMs now);
  void JudgeReplaced(const Answer& answer, const Place& place);
  void JudgeWatcherAnswer(const Answer& answer, Key& key, std::size_t index, TimeMs now);
  bool IsCancelled(const Place& place) const;

  // NOTIFY (ledger_channels.cc).
  void JudgeOnChannel(const Answer& answer, TimeMs now);
  void WaitAgain(Place& place, TimeMs now) const;
  bool IsOpen(int channel) const { return std::ranges::count(open_channels_, channel) > 0; }
  bool IsSameChannel(const Place& place) const;
  bool IsGrantOfNewPlace(const Answer& answer) const;
  void JudgeLosses(TimeMs now);
  void JudgeLoss(const Loss& loss, TimeMs now);
  bool MayEndUntold(const Hold& hold) const;

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
  void JudgeBreak(Key& key, TimeMs now);
  void JudgeNotice(Key& key, TimeMs now);
  static void KeepEnd(const Hold& before, Hold& hold);
  static bool HasAnyNotice(const Key& key);
  void JudgeLook(const Key& key);
  // The Redis way (ledger_redis.cc).
  bool IsTakeover() const;
  bool IsEndingRenewal() const;
  bool IsRelease() const;
  bool MayBeEndedByOthers(const Key& key) const;
  bool EndsCooling() const;
  bool MayExpireNow() const;
  void JudgeRedis(TimeMs now);
  static void SetLeaseEnd(Hold& hold, TimeMs lease_end);
  void JudgeSet(TimeMs now);
  void JudgeSetDenied(TimeMs now);
  void NoteDeniedValue(Key& key, TimeMs now);
  void JudgeSetGranted(int key, Token token, TimeMs now);
  void JudgeSetRenewed(Hold& hold, TimeMs now);
  void DropIfOver(Key& key, Token token) const;
  void JudgeTakeover(Key& key, TimeMs now);
  void JudgeRelease(Key& key, TimeMs now);
  void JudgeExpire(TimeMs now);
  void JudgeSight(const Key& key);
  bool HasOtherStake(int key) const;
  bool MayBeGranted(int key, TimeMs now) const;
  void CheckDenied(TimeMs now);
  void CheckWaitersMax(const Key& key);
  void CheckLineMax(const Key& key);

  // Called before a command's answers are judged: marks the holds that the command ends, and ends
  // whatever ends without an answer.
  void MarkLeaving();
  bool IsLeaving(const Hold& hold, bool is_part) const;
  void ReleaseLeaving(Key& key, TimeMs now);
  void ForgetAbsent();
  void ForgetAbsentOf(int key, int owner);

  bool IsAnythingOver(const Keys& keys, TimeMs now) const;
  // All keys that a change to these keys can affect: those that share an MLOCK with them.
  Keys Reach(Keys keys) const;
  // Drops what is overdue on these keys, and on the other keys of MLOCKs whose place here is over.
  Keys DropOverdueOn(Keys keys, TimeMs now);
  void CheckSettled(const Keys& keys, TimeMs now);
  void ObserveSetting(const Call& call, const Outcome& outcome, TimeMs now);
  void EndOverrides(TimeMs now);
  void NoteLimits();
  bool IsLeftWaiting(const Place& place, const Keys& settled, TimeMs now) const;
  void RemovePlace(const Place& place);
  // The place becomes absent. Returns false if neither KEEP nor a grace period retains it.
  bool LoseRequest(Place& place, TimeMs now) const;
  void LoseSessionsOf(int connection, TimeMs now, Keys& touched);
  Hold HoldFor(const Place& place, Token token, TimeMs now) const;
  Place PlaceFor(const Call& call, TimeMs now) const;
  // The slots that are taken, by holds and cooldowns. On a key that is not settled, those that have
  // ended still count, because the engine may not have removed them yet.
  std::vector<engine::Mode> RoomsOf(const Key& key, TimeMs now, bool is_settled = true) const;
  bool IsRoomTaken(const Hold& hold, TimeMs now, bool is_settled) const;
  void CheckNobodyIsPassed(const Key& key, std::size_t index, const engine::Mode& mode, TimeMs now);
  void NoteToken(Token token);
  void AddHold(int key, Hold hold, TimeMs now);
  void ConfirmAll(Token token);
  // Whether the judged command has granted a hold, whose token is in its result.
  bool GivesToken() const;
  void CheckMayGrow(std::size_t count);
  std::uint64_t CountOfClient(int connection) const;
  void SetWaiting(int connection, bool is_waiting);
  void Require(bool is_kept, const char* promise);
  std::optional<std::string> End(TimeMs now);

  Key& At(int key) { return keys_[static_cast<std::size_t>(key)]; }
  const Key& At(int key) const { return keys_[static_cast<std::size_t>(key)]; }

  const Setting& setting_;
  std::vector<Key> keys_;
  DurationMs default_lease_ms_;
  DurationMs reconnect_grace_ms_;
  bool is_short_of_memory_ = false;
  bool has_no_room_ = false;
  OverrideBook overrides_;
  std::uint64_t next_arrival_ = 1;
  Token newest_token_;
  std::array<Token, 16> recent_tokens_{};  // a ring buffer
  std::size_t tokens_given_ = 0;
  std::vector<bool> is_waiting_;  // indexed by connection

  Keys open_channels_;
  // A hold with NOTIFY, as it was when the last step was judged.
  struct NotifiedHold {
    int key = kAbsent;
    Hold hold;
  };
  std::vector<NotifiedHold> notified_;
  Token newest_before_;

  // About the step that is being judged:
  Keys returned_;                // a channel that has a subscriber again; otherwise empty
  Token undone_ = 0;             // a grant that is undone
  int heir_channel_ = kAbsent;   // the channel of the place that a transfer has ended
  int heir_client_ = kAbsent;    // the client of that place
  const Call* asked_ = nullptr;  // the command; kept even after it is done
  const Call* call_ = nullptr;   // null if no command is being judged
  const Outcome* outcome_ = nullptr;
  int unblocked_ = kAbsent;  // the connection whose wait is ended
  bool was_cancelled_ = false;
  bool was_heir_answered_ = false;  // in a takeover, whether the new owner was waiting in a LOCK
  bool is_in_step_ = false;
  bool may_hand_over_ = true;  // in a step, whether something was overdue when it started
  Keys step_keys_;             // the keys named in the step
  const char* broken_ = nullptr;
};

}  // namespace fairlock::simulation
