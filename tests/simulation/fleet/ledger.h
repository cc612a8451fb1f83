// The judge: it records what clients were told, and checks the promises that follow from it.
//
// 1. Exclusion. An owner that was told a token holds the key from the decision until its lease
//    ends, or until it sends UNLOCK. The lease is counted from when the reply left, or from when
//    the next leader had loaded the lock: a leader may learn late that its last write before that
//    was committed, and then answers for it. It stands still until etcd has confirmed the new
//    leader, and while a leader is unsure. During that time no other owner holds the key, so no
//    reply says so, and no reply says that this owner does not.
// 2. Nothing acknowledged is lost. A released token never holds again, and a key that nobody can
//    hold or wait for is not denied.
// 3. Tokens rise.
// 4. Every reply was true at some moment between request and reply.
// 5. A waiter whose place was seen keeps it against all that ask later, if it asks again within
//    the grace after each change of the leader.
//
// The network tells the judge when a reply was decided and when it left, and whether a request that
// its client gave up can still be executed. The judge knows nothing else about the servers' state.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/fleet/request.h"

namespace fairlock::fleet {

struct LedgerOptions {
  int owners = 0;
  int keys = 0;
  TimeUs restart_grace = 0;
  bool keeps_lines = true;
};

struct Violation {
  std::string text;
  int key = 0;
  TimeUs since = 0;  // when the first relevant request was sent
};

class Ledger {
 public:
  explicit Ledger(const LedgerOptions& options);

  void Send(const std::shared_ptr<Request>& request);
  void Take(const Request& request, const Reply& reply);
  // The client closed the connection, or found it closed, before the reply came.
  void GiveUp(const std::shared_ptr<Request>& request, bool has_client_closed);
  // A run has loaded the locks and now leads.
  void Lead(const ServedBy& by) { leads_.push_back(by); }
  // etcd confirms that this run leads. It has not done so since that time.
  void StandStill(const ServedBy& by, TimeUs since);
  // etcd was restored from a backup: from now on, only the promise about tokens holds for what was
  // acknowledged before.
  void ForgetAll();

  const Violation* violation() const { return violation_.text.empty() ? nullptr : &violation_; }
  // Returns a token of that owner to use with CHECK; 0 if there is none.
  Token TokenOf(int key, int owner) const;

 private:
  struct Sure {
    Token token = 0;
    TimeUs from = 0;
    TimeUs until = 0;
    TimeUs counted = 0;  // its lease is counted from then on
    TimeUs asked = 0;
    int partition = 0;
    bool is_released = false;  // its owner has sent UNLOCK
  };
  // A waiting place, from the first LOCK until its grant.
  struct Place {
    std::vector<std::shared_ptr<Request>> requests = {};
    std::vector<TimeUs> closed = {};  // when the client itself closed a connection
    TimeUs seen_at = 0;               // when a reply first showed it; 0 if no reply has
    std::vector<std::pair<int, TimeUs>> later = {};  // owners that asked later, and when
  };
  struct Owner {
    bool may_hold = false;       // whether it may hold the key or wait for it
    bool may_have_held = false;  // the same before the request in flight
    TimeUs clear_since = 0;
    std::vector<Sure> sure = {};
    std::map<Token, TimeUs> tokens = {};  // when each one's release was acknowledged; 0 if not yet
    std::vector<std::shared_ptr<Request>> given_up = {};  // LOCKs that may still be executed
    Place place = {};
    TimeUs notify_since = 0;  // when a LOCK with NOTIFY was sent; 0 if a reply has shown its grant
    TimeUs sure_until = 0;    // as it was before the UNLOCK in flight
    TimeUs sure_from = 0;
  };
  struct Grant {
    int owner = 0;
    Token token = 0;
    TimeUs asked = 0;
    // The earliest and the latest time at which it may have been decided: a retry may report a
    // grant whose first reply its owner did not receive.
    TimeUs decided_from = 0;
    TimeUs decided = 0;
  };
  struct Key {
    std::vector<Owner> owners;
    std::vector<Grant> grants = {};
    Token token_max = 0;
    Token token_max_restored = 0;  // the maximum when etcd was restored
  };

  void SendLock(const std::shared_ptr<Request>& request, Key& key, Owner& owner);
  void TakeLock(const Request& request, const Reply& reply, Key& key, Owner& owner);
  void TakeGrant(const Request& request, const Reply& reply, Key& key, Owner& owner);
  TimeUs LeaseStart(const Request& request, const Reply& reply) const;
  void CheckToken(const Request& request, Token token, const Key& key, bool is_fresh);
  void CheckPlace(const Request& request, Token token, Key& key, Owner& owner);
  std::vector<std::pair<TimeUs, TimeUs>> Absences(const Place& place, const Request& granted,
                                                  bool& is_lost);
  void TakeUnlock(const Request& request, const Reply& reply, Owner& owner);
  void TakeRenew(const Request& request, const Reply& reply, Key& key, Owner& owner);
  void TakeRead(const Request& request, const Reply& reply, Key& key);
  void SeeHeld(const Request& request, const Reply& reply, const Key& key, int owner);
  void SeeNotHeld(const Request& request, const Reply& reply, const Owner& owner, Token token);
  void AddSure(const Request& request, Key& key, Owner& owner, const Sure& sure);
  bool CanHold(const Owner& owner, const Request& request) const;
  void Fail(const Request& request, const std::string& text, TimeUs since = 0);

  const LedgerOptions options_;
  std::vector<Key> keys_;
  std::vector<ServedBy> leads_;
  TimeUs restored_at_ = 0;  // when ForgetAll was called; 0 if it never was
  std::map<std::uint64_t, Token>
      token_max_at_;  // the key's maximum when each request in flight was sent
  Violation violation_;
};

}  // namespace fairlock::fleet
