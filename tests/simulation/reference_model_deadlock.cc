// The reference model: waits that would never end (rule 11).

#include <algorithm>

#include "tests/simulation/reference_model.h"
#include "tests/simulation/stuck_requests.h"

namespace fairlock::simulation {

bool ReferenceModel::IsDeadlock(const Call& call, const std::vector<ModelPlace>& leaving,
                                TimeMs now) const {
  const Keys asked = call.named();
  WaitPicture picture;
  picture.requests.push_back({call.owner, asked, call.mode()});
  for (int index = 0; index < static_cast<int>(keys_.size()); ++index) {
    const ModelKey& key = At(index);
    WaitPicture::Key& seen = picture.keys.emplace_back();
    seen.db = setting_.keys[static_cast<std::size_t>(index)].db;
    seen.limit_override = key.limit_override;
    for (const ModelHold& hold : key.holds) {
      if (!IsOver(hold.end(), now)) seen.holds.push_back({hold.owner, hold.mode});
    }
    const bool is_asked = std::ranges::count(asked, index) > 0;
    const bool has_place = is_asked && key.FindPlace(call.owner).has_value();
    for (const ModelPlace& place : key.line) {
      if (is_asked && place.owner == call.owner) {
        seen.line.push_back(0);
        continue;
      }
      const bool is_leaving = std::ranges::any_of(leaving, [&](const ModelPlace& other) {
        return other.owner == place.owner && other.keys == place.keys;
      });
      if (is_leaving || place.state != PlaceState::kWaiting || IsOver(place.end, now)) continue;
      seen.line.push_back(NumberOf(picture, place));
    }
    if (is_asked && !has_place) seen.line.push_back(0);
  }
  return FindStuck(picture).front();
}

// The number of the place in the picture; the place of an MLOCK has the same number on each key.
std::size_t ReferenceModel::NumberOf(WaitPicture& picture, const ModelPlace& place) {
  const auto is_it = [&](const WaitPicture::Request& request) {
    return request.owner == place.owner && request.keys == place.keys;
  };
  auto& requests = picture.requests;
  const auto found = std::find_if(requests.begin() + 1, requests.end(), is_it);
  const auto number = static_cast<std::size_t>(found - requests.begin());
  if (found == requests.end()) requests.push_back({place.owner, place.keys, place.mode});
  return number;
}

// Rule 14: REPLACE ends the newest place of each full queue.
std::vector<ModelPlace> ReferenceModel::PlacesToReplace(const Call& call) const {
  std::vector<ModelPlace> places;
  if (!call.waiters_max || !call.replaces_newest || At(call.key).FindPlace(call.owner))
    return places;
  for (int index : call.named()) {
    const ModelKey& key = At(index);
    const std::size_t standing = key.CountStanding();
    if (standing == 0 || standing < *call.waiters_max) continue;
    const auto newest = std::find_if(
        key.line.rbegin(), key.line.rend(),
        [](const ModelPlace& place) { return place.state != PlaceState::kPassedOver; });
    places.push_back(*newest);
  }
  return places;
}

}  // namespace fairlock::simulation
