#include "server/engine/rules/deadlock_search.h"

#include <algorithm>
#include <cassert>

#include "server/engine/state/multi_lock.h"

namespace fairlock::engine {

bool DeadlockSearch::IsStuck(const WaitQuestion& question) {
  if (waiting_.empty()) return false;
  question_ = &question;
  const Claim* other = waiting_.Find(question.db, question.owner);
  for (const Claim* at = other; at != nullptr;) {
    if (at != question.own && (IsLive(*at) || !Spend())) return false;
    at = at->next_of_owner == other ? nullptr : at->next_of_owner;
  }
  AddRequest(nullptr);
  Explore(0);
  // Usually none of the owners that block the request waits for anything.
  if (std::none_of(waits_.begin(), waits_.end(), [&](const Wait& wait) { return IsStuckOn(wait); }))
    return false;
  for (Index i = 1; i < requests_.size(); ++i) Explore(i);
  LetGoWhoCan();
  return requests_.front().keys_stuck > 0;
}

bool DeadlockSearch::Spend() {
  if (steps_left_ == 0) return false;
  --steps_left_;
  return true;
}

bool DeadlockSearch::IsLive(const Claim& claim) const {
  const bool is_absent = claim.state != ClaimState::kWaiting;
  return !is_absent && !IsOver(TimerOf(claim)) &&
         std::find(question_->leaving.begin(), question_->leaving.end(), &claim) ==
             question_->leaving.end();
}

DeadlockSearch::Index DeadlockSearch::RequestOfOwner(std::uint8_t db, std::string_view owner) {
  if (db == question_->db && owner == question_->owner) return 0;
  const Claim* first = waiting_.Find(db, owner);
  const Claim* only = nullptr;
  for (const Claim* at = first; at != nullptr;) {
    if (IsLive(*at)) {
      if (only != nullptr) return kNone;
      only = at;
    }
    at = at->next_of_owner == first || !Spend() ? nullptr : at->next_of_owner;
  }
  if (only == nullptr) return kNone;
  const auto [known, is_new] = known_.try_emplace(only, static_cast<Index>(requests_.size()));
  const Index request = known->second;
  if (is_new) AddRequest(only);
  return request;
}

void DeadlockSearch::AddRequest(const Claim* claim) { requests_.push_back({.claim = claim}); }

void DeadlockSearch::AddCause(Index request, Index wait, bool is_held, const Mode& mode) {
  Index& first = requests_[request].first_cause;
  causes_.push_back(
      {.request = request, .wait = wait, .next = first, .is_held = is_held, .mode = mode});
  first = static_cast<Index>(causes_.size() - 1);
}

void DeadlockSearch::Explore(Index request) {
  const Claim* claim = requests_[request].claim;
  if (claim == nullptr) {
    for (const WaitQuestion::Key& key : question_->keys) {
      AddWait(request, *key.lock, key.number, question_->mode);
    }
    return;
  }
  ForEachClaim(const_cast<Claim&>(*claim),
               [&](const Claim& one) { AddWait(request, one.lock, one.number, one.mode); });
}

void DeadlockSearch::AddWait(Index request, const LockEntry& lock, std::uint64_t number,
                             const Mode& mode) {
  waits_.push_back(
      {.request = request, .lock = &lock, .number = number, .mode = mode, .slots = {}});
  const auto wait = static_cast<Index>(waits_.size() - 1);
  LookAtHolders(wait);
  LookAtQueue(wait);
}

void DeadlockSearch::LookAtHolders(Index wait) {
  const LockEntry& lock = *waits_[wait].lock;
  const std::uint8_t db = lock.key().db;
  const auto look = [&](const Hold& hold) {
    if (IsOver(hold) || !Spend()) return;
    const Index holder = RequestOfOwner(db, engine::OwnerOf(hold));
    if (holder == kNone || holder == waits_[wait].request) return;
    waits_[wait].slots.Take(ModeOf(hold));
    AddCause(holder, wait, true, ModeOf(hold));
  };
  if (lock.has_plain_hold()) look(lock.plain);
  if (lock.contended == nullptr) return;
  for (const Claim& hold : lock.contended->holds) look(hold);
}

// Looking at the nearest place ahead that may be stuck is enough: if places further ahead block
// this wait, they also block that place. A request for this key alone, of the same mode, is stuck
// for the same reasons as this one and can be passed over. If no holder is stuck, that is true of
// any mode, because only the queue can then be the reason.
void DeadlockSearch::LookAtQueue(Index wait) {
  const ContendedLock* contended = waits_[wait].lock->contended.get();
  if (contended == nullptr) return;
  if (IsAskerAhead(waits_[wait])) {
    waits_[wait].has_stuck_ahead = true;
    AddCause(0, wait, false, {});
    return;
  }
  const bool is_any_holder_stuck = waits_[wait].slots.taken() > 0;
  if (!is_any_holder_stuck && contended->multi_locks_in_queue == 0) return;
  for (auto at = contended->active.rbegin(); at != contended->active.rend(); ++at) {
    if (!Spend()) return;
    const Claim& place = *at;
    const bool is_of_one_key = place.multi_lock() == nullptr;
    if (place.number >= waits_[wait].number) continue;
    if (is_of_one_key && (!is_any_holder_stuck || place.mode == waits_[wait].mode)) continue;
    if (!IsLive(FirstClaim(place))) continue;
    const Index ahead = RequestOfOwner(place.lock.key().db, place.owner());
    if (ahead == kNone || ahead == waits_[wait].request) continue;
    waits_[wait].has_stuck_ahead = true;
    AddCause(ahead, wait, false, {});
    return;
  }
}

// If the asker already has a place, its request will take that place over.
bool DeadlockSearch::IsAskerAhead(const Wait& wait) const {
  if (question_->own == nullptr || wait.request == 0) return false;
  return std::any_of(question_->keys.begin(), question_->keys.end(),
                     [&](const WaitQuestion::Key& key) {
                       return key.lock == wait.lock && key.number < wait.number;
                     });
}

bool DeadlockSearch::HasSlot(const Wait& wait) const {
  // A drain does not make a request stuck: an operator can end it at any time.
  const auto limit = overrides_.empty() ? std::nullopt : overrides_.Find(wait.lock->key());
  return limit.value_or(0) > 0 ? wait.slots.HasSlotFor(wait.mode, *limit)
                               : wait.slots.HasSlotFor(wait.mode);
}

bool DeadlockSearch::IsStuckOn(const Wait& wait) const {
  return wait.has_stuck_ahead || !HasSlot(wait);
}

void DeadlockSearch::LetGoWhoCan() {
  for (Wait& wait : waits_) {
    wait.is_stuck = IsStuckOn(wait);
    if (wait.is_stuck) ++requests_[wait.request].keys_stuck;
  }
  std::vector<Index> free;
  for (Index i = 0; i < requests_.size(); ++i) {
    if (requests_[i].keys_stuck == 0) free.push_back(i);
  }
  while (!free.empty()) {
    const Index request = free.back();
    free.pop_back();
    LetGo(request, free);
  }
}

void DeadlockSearch::LetGo(Index request, std::vector<Index>& free) {
  for (Index i = requests_[request].first_cause; i != kNone; i = causes_[i].next) {
    const Cause& cause = causes_[i];
    Wait& wait = waits_[cause.wait];
    if (cause.is_held) {
      wait.slots.Free(cause.mode);
    } else {
      wait.has_stuck_ahead = false;
    }
    if (!wait.is_stuck || IsStuckOn(wait)) continue;
    wait.is_stuck = false;
    if (--requests_[wait.request].keys_stuck == 0) free.push_back(wait.request);
  }
}

// The SHARED holds of other readers do not block a reader that waits after a writer.
bool DeadlockSearch::KeepsStuck(const Cause& cause) const {
  const Wait& wait = waits_[cause.wait];
  if (!wait.is_stuck || requests_[cause.request].keys_stuck == 0) return false;
  return !cause.is_held || !HasSlot(wait);
}

std::string_view DeadlockSearch::OwnerOf(Index request) const {
  const Claim* claim = requests_[request].claim;
  return claim == nullptr ? question_->owner : claim->owner();
}

std::vector<DeadlockSearch::Index> DeadlockSearch::FindCircle() const {
  // Walks from the asker to the requests that wait for it, then to the requests that wait for
  // those, and so on, until it reaches a request for which the asker waits.
  std::vector<Index> way(requests_.size(), kNone);  // for each request: the cause that leads to it
  std::vector<Index> reached = {0};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (Index c = requests_[reached[i]].first_cause; c != kNone; c = causes_[c].next) {
      const Wait& wait = waits_[causes_[c].wait];
      if (!KeepsStuck(causes_[c]) || way[wait.request] != kNone) continue;
      way[wait.request] = c;
      if (wait.request != 0) {
        reached.push_back(wait.request);
        continue;
      }
      std::vector<Index> circle = {c};
      while (causes_[circle.back()].request != 0) {
        circle.push_back(way[causes_[circle.back()].request]);
      }
      return circle;
    }
  }
  return {};
}

std::vector<DeadlockSearch::Index> DeadlockSearch::FindAnyChain() const {
  std::vector<Index> way(requests_.size(), kNone);
  for (Index c = 0; c < causes_.size(); ++c) {
    const Index waiter = waits_[causes_[c].wait].request;
    if (KeepsStuck(causes_[c]) && way[waiter] == kNone) way[waiter] = c;
  }
  std::vector<Index> chain;
  for (Index request = 0; way[request] != kNone;) {
    chain.push_back(way[request]);
    way[request] = kNone;
    request = causes_[chain.back()].request;
  }
  return chain;
}

void DeadlockSearch::Describe(Deadlock& deadlock) const {
  std::vector<Index> chain = FindCircle();
  if (chain.empty()) chain = FindAnyChain();
  assert(!chain.empty());
  deadlock.links.clear();
  deadlock.link_count = chain.size();
  for (const Index c : chain) {
    if (deadlock.links.size() == Deadlock::kLinksMax) return;
    const Wait& wait = waits_[causes_[c].wait];
    deadlock.links.push_back({.waiter = OwnerOf(wait.request),
                              .key = wait.lock->key(),
                              .blocker = OwnerOf(causes_[c].request),
                              .is_held = causes_[c].is_held});
  }
}

}  // namespace fairlock::engine
