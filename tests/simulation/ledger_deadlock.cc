// The ledger: waits that would never end.

#include <algorithm>

#include "tests/simulation/ledger.h"
#include "tests/simulation/lists.h"

namespace fairlock::simulation {

// All waits as the clients see them; the judged request comes first.
WaitPicture Ledger::Picture(TimeMs now) const {
  WaitPicture picture;
  picture.requests.push_back({call_->owner, call_->named(), call_->mode()});
  const auto number_of = [&](const Place& place) {
    const auto is_it = [&](const WaitPicture::Request& request) {
      return request.owner == place.owner && request.keys == place.keys;
    };
    auto& requests = picture.requests;
    const auto found = std::find_if(requests.begin() + 1, requests.end(), is_it);
    const auto number = static_cast<std::size_t>(found - requests.begin());
    if (found == requests.end()) requests.push_back({place.owner, place.keys, place.mode});
    return number;
  };
  const std::vector<Place> leaving = PlacesToReplace();
  for (int index = 0; index < static_cast<int>(keys_.size()); ++index) {
    const Key& key = At(index);
    WaitPicture::Key& seen = picture.keys.emplace_back();
    seen.db = setting_.keys[static_cast<std::size_t>(index)].db;
    seen.limit_override = key.limit_override;
    for (const Hold& hold : key.holds) {
      if (!IsOver(hold.end, now) && !hold.is_leaving) seen.holds.push_back({hold.owner, hold.mode});
    }
    const std::vector<int> named = call_->named();
    const bool is_asked = std::ranges::count(named, index) > 0;
    bool has_place = false;
    for (const Place& place : key.line) {
      const bool is_own = is_asked && place.owner == call_->owner;
      has_place = has_place || is_own;
      const bool is_leaving = std::ranges::any_of(leaving, [&](const Place& other) {
        return other.owner == place.owner && other.keys == place.keys;
      });
      if (is_own) {
        seen.line.push_back(0);
      } else if (place.state == PlaceState::kWaiting && !IsOver(place.end, now) && !is_leaving) {
        seen.line.push_back(number_of(place));
      }
    }
    if (is_asked && !has_place) seen.line.push_back(0);
  }
  return picture;
}

// The places that REPLACE would end before the request waits; empty if it has already ended them.
std::vector<Ledger::Place> Ledger::PlacesToReplace() const {
  std::vector<Place> places;
  const bool is_refused = outcome_->status == static_cast<int>(engine::LockStatus::kDeadlock);
  const auto& own_line = At(call_->key).line;
  const bool has_place = FindOwner(own_line, call_->owner) != own_line.end();
  const bool is_replaced = std::ranges::any_of(outcome_->answers, [](const Answer& answer) {
    return answer.kind == engine::ResolutionKind::kReplaced;
  });
  if (!is_refused || is_replaced || has_place || !call_->waiters_max || !call_->replaces_newest)
    return places;
  for (int index : call_->named()) {
    std::vector<Place> standing = At(index).line;
    std::erase_if(standing,
                  [](const Place& place) { return place.state == PlaceState::kPassedOver; });
    if (!standing.empty() && standing.size() >= *call_->waiters_max) {
      places.push_back(standing.back());
    }
  }
  return places;
}

void Ledger::JudgeDeadlock(TimeMs now) {
  Require(call_->wait_ms > 0, "only who would wait is in a deadlock");
  const WaitPicture picture = Picture(now);
  Require(FindStuck(picture).front(), "no wait is refused that can end");
  const std::vector<DeadlockLink>& links = outcome_->links;
  Require(!links.empty() && links.front().waiter == call_->owner,
          "the chain begins with the asker");
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (i > 0) Require(links[i].waiter == links[i - 1].blocker, "the links make a chain");
    Require(IsTrue(picture, links[i]), "a link says what is so");
  }
  if (outcome_->link_count > links.size() || links.empty()) return;
  const bool is_closed = std::ranges::any_of(
      links, [&](const DeadlockLink& link) { return link.waiter == links.back().blocker; });
  Require(is_closed, "the chain comes back to where it was");
}

bool Ledger::IsTrue(const WaitPicture& picture, const DeadlockLink& link) {
  const std::vector<bool> stuck = FindStuck(picture);
  const auto find = [&](int owner) {
    std::size_t request = 0;
    while (request < stuck.size() &&
           !(stuck[request] && picture.requests[request].owner == owner)) {
      ++request;
    }
    return request;
  };
  const std::size_t waiter = find(link.waiter);
  const std::size_t blocker = find(link.blocker);
  if (waiter == stuck.size() || blocker == stuck.size()) return false;
  if (std::ranges::count(picture.requests[waiter].keys, link.key) == 0) return false;
  const bool is_reader = picture.requests[waiter].mode.is_shared;
  return link.is_held ? picture.HoldsKey(link.blocker, link.key, !is_reader)
                      : picture.IsAhead(blocker, waiter, link.key);
}

}  // namespace fairlock::simulation
