// What the clients were told, and the judgement of each further answer by the promises made to
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/call.h"
#include "tests/simulation/setting.h"

namespace fairlock::simulation {

// Predicts nothing and follows the engine's word; independent of the reference model. Promises:
//  1. Tokens rise over everything.
//  2. A hold is granted only if all holds of the key tolerate it (one exclusive holder, or n).
//  3. Nobody passes in line.
//  4. No lease and no wait ends early, and after a command none that is over is left on its key.
//  5. Each request that waits gets one answer, of a kind that has a cause; nobody else gets any.
//  6. WAIT key is answered when no hold of its time remains, neither before nor after.
class Ledger {
 public:
  struct Hold {
    int owner = kAbsent;
    Token token = 0;
    std::uint32_t limit = 1;
    DurationMs lease_ms = 0;
    TimeMs end = 0;
  };
  struct Place {
    int owner = kAbsent;
    int connection = kAbsent;  // absent while superseded, until the later request is answered
    std::uint32_t limit = 1;
    DurationMs lease_ms = 0;
    TimeMs give_up = 0;
  };
  struct Watcher {
    int connection = kAbsent;
    Token newest_token = 0;
    TimeMs give_up = 0;
  };
  struct Key {
    std::vector<Hold> holds;
    std::vector<Place> line;  // in the order of arrival
    std::vector<Watcher> watchers;
  };

  explicit Ledger(const Setting& setting);

  // Each returns the first broken promise, or nothing.
  std::optional<std::string> Observe(const Call& call, const Outcome& outcome, TimeMs now);
  std::optional<std::string> ObserveAdvance(const Outcome& outcome, bool is_done, TimeMs now);
  std::optional<std::string> ObserveUnblock(int connection, const Outcome& outcome, TimeMs now);
  std::optional<std::string> ObserveDisconnect(int connection, const Outcome& outcome, TimeMs now);

  const Key& key(int index) const { return keys_[static_cast<std::size_t>(index)]; }
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
  void JudgeUnlock(Key& key);
  void JudgeRenew(Key& key, TimeMs now);
  void JudgeWait(Key& key, TimeMs now);
  void JudgeCancel(Key& key);
  void JudgeTransfer(Key& key, TimeMs now);
  void JudgeBreak(Key& key);
  void JudgeLook(const Key& key);
  void CheckSettled(const Key& key, TimeMs now);

  void AddHold(Key& key, const Hold& hold, TimeMs now);
  bool IsLeaving(const Hold& hold) const;
  bool GivesToken() const;
  void SetWaiting(int connection, bool is_waiting);
  void Require(bool is_kept, const char* promise);
  std::optional<std::string> End();

  std::vector<Key> keys_;
  DurationMs default_lease_ms_;
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
