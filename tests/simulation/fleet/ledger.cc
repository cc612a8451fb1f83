#include "tests/simulation/fleet/ledger.h"

#include <algorithm>
#include <utility>

namespace fairlock::fleet {

namespace {

// The engine counts in milliseconds, and uses the same time throughout a turn.
constexpr TimeUs kSlack = 3 * kMs;

std::string NameOf(int owner) { return "w" + std::to_string(owner); }

// Whether the interval covers every moment between the request and its reply.
bool Covers(TimeUs from, TimeUs until, const Request& request, const Reply& reply) {
  return from <= request.sent && reply.left + kSlack <= until;
}

// Whether a node that serves the key's partition has executed the request.
bool IsServed(const Request& request) {
  return request.fate == Request::Fate::kExecuted && request.by.run != 0 &&
         request.by.partition == request.partition;
}

// Whether a leader has executed a request for this place. A place that came back with a backup of
// etcd is a different one.
bool MayStand(const std::vector<std::shared_ptr<Request>>& requests) {
  return std::ranges::any_of(requests, [](const auto& request) {
    return IsServed(*request) && request->by.loaded_at != 0;
  });
}

}  // namespace

Ledger::Ledger(const LedgerOptions& options) : options_(options) {
  keys_.resize(static_cast<std::size_t>(options.keys));
  for (Key& key : keys_) key.owners.resize(static_cast<std::size_t>(options.owners));
}

void Ledger::Fail(const Request& request, const std::string& text, TimeUs since) {
  if (!violation_.text.empty()) return;
  violation_ = {.text = "#" + std::to_string(request.number) + " " + TextOf(request) + ": " + text,
                .key = request.key,
                .since = since == 0 ? request.sent : since};
}

Token Ledger::TokenOf(int key, int owner) const {
  const auto& tokens =
      keys_[static_cast<std::size_t>(key)].owners[static_cast<std::size_t>(owner)].tokens;
  return tokens.empty() ? 0 : tokens.rbegin()->first;
}

void Ledger::Send(const std::shared_ptr<Request>& request) {
  Key& key = keys_[static_cast<std::size_t>(request->key)];
  Owner& owner = key.owners[static_cast<std::size_t>(request->owner)];
  if (request->command == Command::kLock) return SendLock(request, key, owner);
  if (request->command != Command::kUnlock) return;
  owner.sure_from = owner.sure_until = 0;
  for (Sure& sure : owner.sure) {
    if (sure.until > request->sent && sure.from <= request->sent) {
      owner.sure_from = sure.from;
      owner.sure_until = std::max(owner.sure_until, sure.until);
    }
    sure.until = std::min(sure.until, request->sent);
    sure.is_released = true;
  }
  owner.place = {};
}

void Ledger::SendLock(const std::shared_ptr<Request>& request, Key& key, Owner& owner) {
  token_max_at_[request->number] = key.token_max;
  for (Owner& other : key.owners) {
    const bool is_ahead = &other != &owner && other.place.seen_at != 0 && !owner.may_hold;
    if (is_ahead) other.place.later.emplace_back(request->owner, request->sent);
  }
  owner.may_have_held = std::exchange(owner.may_hold, true);
  if (request->notifies) {
    owner.place = {};
    if (owner.notify_since == 0) owner.notify_since = request->sent;
  }
  if (!request->waits) return;
  owner.place.requests.push_back(request);
}

void Ledger::GiveUp(const std::shared_ptr<Request>& request, bool has_client_closed) {
  Owner& owner = keys_[static_cast<std::size_t>(request->key)]
                     .owners[static_cast<std::size_t>(request->owner)];
  if (request->command != Command::kLock) return;
  owner.given_up.push_back(request);
  if (has_client_closed) owner.place.closed.push_back(Time().now());
}

void Ledger::Take(const Request& request, const Reply& reply) {
  Key& key = keys_[static_cast<std::size_t>(request.key)];
  Owner& owner = key.owners[static_cast<std::size_t>(request.owner)];
  if (request.sent <= restored_at_) {
    // A write that is now lost may have confirmed it.
    if (request.command != Command::kLock || reply.kind != Reply::Kind::kNumber) return;
    const auto token = static_cast<Token>(reply.number);
    key.token_max = std::max(key.token_max, token);
    key.token_max_restored = std::max(key.token_max_restored, token);
    return;
  }
  if (reply.kind == Reply::Kind::kError) {
    // The request was refused without being executed.
    if (request.command == Command::kLock) {
      owner.may_hold = owner.may_have_held;
      if (request.waits) owner.place.requests.pop_back();
      if (owner.place.requests.empty()) owner.place = {};
    }
    return;
  }
  switch (request.command) {
    case Command::kLock:
      return TakeLock(request, reply, key, owner);
    case Command::kUnlock:
      return TakeUnlock(request, reply, owner);
    case Command::kRenew:
      return TakeRenew(request, reply, key, owner);
    default:
      return TakeRead(request, reply, key);
  }
}

void Ledger::TakeLock(const Request& request, const Reply& reply, Key& key, Owner& owner) {
  if (reply.kind == Reply::Kind::kNumber) return TakeGrant(request, reply, key, owner);
  for (const Owner& other : key.owners) {
    if (&other == &owner ? owner.may_have_held : CanHold(other, request)) return;
  }
  Fail(request, "is denied, but nobody can hold the key or wait for it");
}

void Ledger::TakeGrant(const Request& request, const Reply& reply, Key& key, Owner& owner) {
  const auto token = static_cast<Token>(reply.number);
  const bool is_first = owner.tokens.count(token) == 0;
  CheckToken(request, token, key, is_first && !owner.may_have_held);
  if (owner.tokens.count(token) != 0 && owner.tokens[token] != 0) {
    Fail(request, "grants a token again that was released", 0);
  }
  const bool is_fresh = is_first && !owner.may_have_held;
  const TimeUs lease_from = is_fresh ? LeaseStart(request, reply) : request.sent;
  if (is_first) {
    if (options_.keeps_lines) CheckPlace(request, token, key, owner);
    TimeUs asked = owner.place.requests.empty() ? request.sent : owner.place.requests.front()->sent;
    if (owner.notify_since != 0) asked = std::min(asked, owner.notify_since);
    const bool may_be_old = owner.may_have_held && reply.decided == request.decided_at;
    TimeUs decided_from = may_be_old ? asked : reply.decided;
    for (const auto& lock : owner.given_up) {
      if (may_be_old) decided_from = std::min(decided_from, lock->sent);
    }
    key.grants.push_back({request.owner, token, asked, decided_from, reply.decided});
    key.token_max = std::max(key.token_max, token);
    owner.tokens.emplace(token, 0);
  }
  owner.place = {};
  owner.notify_since = 0;
  AddSure(request, key, owner,
          {.token = token,
           .from = reply.decided,
           .until = lease_from + request.lease - kSlack,
           .counted = std::max(lease_from, reply.decided),
           .asked = request.sent,
           .partition = request.partition});
}

TimeUs Ledger::LeaseStart(const Request& request, const Reply& reply) const {
  TimeUs start = reply.left;
  for (const ServedBy& lead : leads_) {
    if (lead.partition != request.partition) continue;
    if (lead.loaded_at > request.by.loaded_at) start = std::min(start, lead.loaded_at);
  }
  return start;
}

void Ledger::CheckToken(const Request& request, Token token, const Key& key, bool is_fresh) {
  const auto at = token_max_at_.find(request.number);
  const Token before = at == token_max_at_.end() ? 0 : at->second;
  const bool is_own = std::ranges::any_of(key.grants, [&](const Grant& grant) {
    return grant.token == token && grant.owner == request.owner;
  });
  // A hold may have come back with the backup.
  const bool may_be_restored = !is_fresh && token <= key.token_max_restored;
  if (token <= before && !is_own && !may_be_restored) {
    Fail(request, "token " + std::to_string(token) + " does not rise: " + std::to_string(before) +
                      " was granted before");
  }
  for (const Grant& grant : key.grants) {
    if (grant.token == token && grant.owner != request.owner) {
      Fail(request, "token " + std::to_string(token) + " was granted to " + NameOf(grant.owner));
    }
  }
}

// The waiter had no connection to the leading run between these times. If `is_lost`, it may have
// lost its place, because it was away for too long or because it left. `granted` is the request
// that got the lock; if it did not wait, it is not among those of the place.
std::vector<std::pair<TimeUs, TimeUs>> Ledger::Absences(const Place& place, const Request& granted,
                                                        bool& is_lost) {
  std::vector<const Request*> served;
  for (const auto& request : place.requests) {
    if (IsServed(*request)) served.push_back(request.get());
  }
  if (!served.empty() && served.back()->number != granted.number) served.push_back(&granted);
  std::vector<std::pair<TimeUs, TimeUs>> absences;
  const Request* before = nullptr;
  for (const Request* const request : served) {
    if (before != nullptr) {
      TimeUs missed_at = request->by.loaded_at;
      for (const ServedBy& lead : leads_) {
        if (lead.partition != request->partition) continue;
        if (lead.loaded_at > before->by.loaded_at) missed_at = std::min(missed_at, lead.loaded_at);
      }
      const TimeUs grace = std::min(options_.restart_grace, granted.lease);
      is_lost |= request->by.run == before->by.run || before->decided_at > missed_at ||
                 request->decided_at > missed_at + grace - kSlack;
      for (const TimeUs closed : place.closed) {
        is_lost |= closed > before->decided_at && closed <= missed_at;
      }
      absences.emplace_back(missed_at, request->decided_at);
    }
    before = request;
  }
  return absences;
}

void Ledger::CheckPlace(const Request& request, Token token, Key& key, Owner& owner) {
  if (owner.place.seen_at == 0) return;
  bool is_lost = false;
  const auto absences = Absences(owner.place, request, is_lost);
  if (is_lost) return;
  for (const auto& [other, asked] : owner.place.later) {
    for (const Grant& grant : key.grants) {
      const bool is_overtaking =
          grant.owner == other && grant.asked >= asked && grant.token < token;
      const bool was_away = std::ranges::any_of(absences, [&](const auto& absence) {
        return absence.first <= grant.decided && grant.decided_from <= absence.second;
      });
      if (!is_overtaking || was_away) continue;
      Fail(request,
           NameOf(other) + " asked later and was granted " + std::to_string(grant.token) +
               ", before " + std::to_string(token),
           owner.place.requests.front()->sent);
    }
  }
}

void Ledger::AddSure(const Request& request, Key& key, Owner& owner, const Sure& sure) {
  if (sure.until <= sure.from) return;
  for (std::size_t i = 0; i < key.owners.size(); ++i) {
    if (&key.owners[i] == &owner) continue;
    for (const Sure& other : key.owners[i].sure) {
      if (std::max(sure.from, other.from) >= std::min(sure.until, other.until)) continue;
      Fail(request,
           "acknowledged, but " + NameOf(static_cast<int>(i)) + " holds the key with token " +
               std::to_string(other.token) + " at that time",
           std::min(other.asked, request.sent));
    }
  }
  owner.sure.push_back(sure);
}

void Ledger::TakeUnlock(const Request& request, const Reply& reply, Owner& owner) {
  if (reply.number == 0 && owner.sure_until != 0 &&
      Covers(owner.sure_from, owner.sure_until, request, reply)) {
    Fail(request, "a reply says that the owner does not hold the key, but its lease has not ended",
         owner.sure_from);
  }
  const bool may_come_back = std::ranges::any_of(owner.given_up, [&](const auto& lock) {
    return lock->fate == Request::Fate::kUnderWay ||
           (lock->fate == Request::Fate::kExecuted && lock->decided_at >= request.sent);
  });
  if (may_come_back) return;
  owner.given_up.clear();
  owner.notify_since = 0;
  owner.may_hold = false;
  owner.clear_since = reply.left;
  for (auto& [token, released_at] : owner.tokens) {
    if (released_at == 0) released_at = reply.left;
  }
}

void Ledger::TakeRenew(const Request& request, const Reply& reply, Key& key, Owner& owner) {
  if (reply.number == 0) return SeeNotHeld(request, reply, owner, request.token);
  if (const auto found = owner.tokens.find(request.token);
      found != owner.tokens.end() && found->second != 0 && found->second <= request.sent) {
    Fail(request, "renewed, but its release was acknowledged before");
  }
  SeeHeld(request, reply, key, request.owner);
  AddSure(request, key, owner,
          {.token = request.token,
           .from = reply.decided,
           .until = request.sent + request.lease - kSlack,
           .counted = reply.decided,
           .asked = request.sent,
           .partition = request.partition});
}

bool Ledger::CanHold(const Owner& owner, const Request& request) const {
  return owner.may_hold || owner.clear_since > request.sent;
}

void Ledger::SeeHeld(const Request& request, const Reply& reply, const Key& key, int owner) {
  if (!CanHold(key.owners[static_cast<std::size_t>(owner)], request)) {
    Fail(request, TextOf(reply) + " says that " + NameOf(owner) +
                      " holds the key, which it has "
                      "released");
  }
  for (std::size_t i = 0; i < key.owners.size(); ++i) {
    if (static_cast<int>(i) == owner) continue;
    for (const Sure& sure : key.owners[i].sure) {
      if (!Covers(sure.from, sure.until, request, reply)) continue;
      Fail(request,
           TextOf(reply) + " says that " + NameOf(owner) + " holds the key, but " +
               NameOf(static_cast<int>(i)) + " does, with token " + std::to_string(sure.token),
           sure.asked);
    }
  }
}

void Ledger::SeeNotHeld(const Request& request, const Reply& reply, const Owner& owner,
                        Token token) {
  for (const Sure& sure : owner.sure) {
    if (token != 0 && sure.token != token) continue;
    if (!Covers(sure.from, sure.until, request, reply)) continue;
    Fail(request,
         TextOf(reply) + " says that the owner does not hold the key, but its lease with token " +
             std::to_string(sure.token) + " runs",
         sure.asked);
  }
}

void Ledger::TakeRead(const Request& request, const Reply& reply, Key& key) {
  Owner& about = key.owners[static_cast<std::size_t>(request.about)];
  const bool is_number = reply.kind == Reply::Kind::kNumber;
  switch (request.command) {
    case Command::kLocked: {
      if (reply.number > 1) Fail(request, std::to_string(reply.number) + " hold the key");
      const bool can_any = std::ranges::any_of(
          key.owners, [&](const Owner& owner) { return CanHold(owner, request); });
      if (reply.number == 1 && !can_any) Fail(request, "nobody can hold the key, but one does");
      if (reply.number != 0) return;
      for (const Owner& owner : key.owners) SeeNotHeld(request, reply, owner, 0);
      return;
    }
    case Command::kIsLockedBy:
      if (reply.number == 0) return SeeNotHeld(request, reply, about, 0);
      return SeeHeld(request, reply, key, request.about);
    case Command::kCheck: {
      if (reply.number == 0) return SeeNotHeld(request, reply, about, request.token);
      const auto found = about.tokens.find(request.token);
      if (found != about.tokens.end() && found->second != 0 && found->second <= request.sent) {
        Fail(request, "the token holds the key, but its release was acknowledged before");
      }
      return SeeHeld(request, reply, key, request.about);
    }
    case Command::kPosition:
      if (is_number && reply.number == 0) return SeeHeld(request, reply, key, request.about);
      SeeNotHeld(request, reply, about, 0);
      if (is_number && about.place.seen_at == 0 && MayStand(about.place.requests)) {
        about.place.seen_at = Time().now();
      }
      return;
    default:
      return;
  }
}

void Ledger::StandStill(const ServedBy& by, TimeUs since) {
  // A confirmation that arrives late, when another run leads, says nothing about that one.
  const auto is_newer = [&](const ServedBy& lead) {
    return lead.partition == by.partition && lead.loaded_at > by.loaded_at;
  };
  if (std::ranges::any_of(leads_, is_newer)) return;
  for (Key& key : keys_) {
    for (Owner& owner : key.owners) {
      for (Sure& sure : owner.sure) {
        const bool runs = sure.partition == by.partition && !sure.is_released;
        if (!runs || sure.until <= since) continue;
        const TimeUs from = std::max(since, sure.counted);
        sure.until += std::max<TimeUs>(Time().now() - from - kSlack, 0);
      }
    }
  }
}

void Ledger::ForgetAll() {
  restored_at_ = Time().now();
  for (Key& key : keys_) {
    key.token_max_restored = key.token_max;
    for (Owner& owner : key.owners) {
      owner.sure.clear();
      owner.may_hold = true;
      owner.sure_until = owner.sure_from = 0;
      owner.place = {};
      // The release may have been undone, so its token may be held again.
      for (auto& [token, released_at] : owner.tokens) released_at = 0;
    }
  }
}

}  // namespace fairlock::fleet
