// Connections: when one closes, its places stay for KEEP or for the reconnect grace, its sessions
// end or run through their GRACE, and its watchers end. If it had very many sessions, they end in
// several calls. A grant that did not reach its owner is undone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/engine/api/effects.h"
#include "server/engine/rules/rule.h"
#include "server/engine/state/multi_lock.h"

namespace fairlock::engine {

class Sessions : Rule {
 public:
  using Rule::Rule;

  // Undoes a grant whose token did not reach its owner, because the connection closed before the
  // whole reply was sent. The place returns as if its connection had closed, or the next waiter is
  // granted. All holds of an MLOCK end, and its place returns if none of them had ended or leaves.
  // False: the hold has ended, or was renewed meanwhile. `key_hash` and `token` are those of the
  // LockResult or Resolution.
  bool UndoGrant(std::uint64_t key_hash, Token token, Step step);
  // Call this when a connection has closed, after undoing undelivered grants. Its places stay for
  // KEEP or the reconnect grace, its sessions end or run through their grace, its watchers end. At
  // most 1,000 sessions end between two calls of EndClosed, which ends the others.
  void Detach(Attachment& attachment, Step step);
  // Expiry::Advance calls this. Ends at most about `holds_max` of the holds that Detach left.
  // True: there are more.
  bool EndClosed(std::size_t holds_max, Step step);
  // Ends every wait of the attachment as if it had timed out, unless its turn has already come.
  void EndWaits(Attachment& attachment, Step step);

 private:
  static LockList LocksOf(Pending& pending);
  void Unlink(Attachment& attachment);
  void EndFirst(Attachment& attachment, Step step);
  void LoseSession(Claim& hold, TimeMs now);
  static void AdoptRequest(Claim& claim, const Claim& first);
  bool UndoMultiLock(MultiLock& multi_lock, Step step);

  // At most this many holds end at once between two calls of EndClosed, which ends the others. A
  // grant to the next waiter takes microseconds, during which other connections have to wait.
  static constexpr std::size_t kEndedAtOnceMax = 1000;

  std::size_t ended_at_once_ = 0;
};

}  // namespace fairlock::engine
