#include "tests/simulation/stuck_requests.h"

#include <algorithm>

#include "tests/simulation/call.h"

namespace fairlock::simulation {

std::pair<std::uint8_t, int> WaitPicture::NameOf(std::size_t request) const {
  const Request& it = requests[request];
  return {keys[static_cast<std::size_t>(it.keys.front())].db, it.owner};
}

bool WaitPicture::IsAhead(std::size_t other, std::size_t request, int key) const {
  const std::vector<std::size_t>& line = keys[static_cast<std::size_t>(key)].line;
  const auto it = std::ranges::find(line, request);
  return std::find(line.begin(), it, other) != it;
}

bool WaitPicture::HoldsKey(int owner, int key, bool in_any_way) const {
  return std::ranges::any_of(keys[static_cast<std::size_t>(key)].holds, [&](const Hold& hold) {
    return hold.owner == owner && (in_any_way || !hold.mode.is_shared);
  });
}

namespace {

bool IsStuckOn(const WaitPicture& picture, const std::vector<bool>& stuck, std::size_t request,
               int index) {
  const WaitPicture::Key& key = picture.keys[static_cast<std::size_t>(index)];
  for (std::size_t other = 0; other < stuck.size(); ++other) {
    if (stuck[other] && picture.IsAhead(other, request, index)) return true;
  }
  std::vector<engine::Mode> staying;
  for (const WaitPicture::Hold& hold : key.holds) {
    for (std::size_t other = 0; other < stuck.size(); ++other) {
      if (!stuck[other] || picture.NameOf(other) != std::pair(key.db, hold.owner)) continue;
      staying.push_back(hold.mode);
      break;
    }
  }
  // A drain (an override of 0) ends some time, so it does not make a request stuck.
  const auto limit = key.limit_override == 0U ? std::nullopt : key.limit_override;
  return !HasRoomBeside(staying, picture.requests[request].mode, limit);
}

}  // namespace

std::vector<bool> FindStuck(const WaitPicture& picture) {
  const std::size_t count = picture.requests.size();
  std::vector<bool> stuck(count, true);
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < count; ++b) {
      if (a != b && picture.NameOf(a) == picture.NameOf(b)) stuck[a] = false;
    }
  }
  bool has_changed = true;
  while (has_changed) {
    has_changed = false;
    for (std::size_t i = 0; i < count; ++i) {
      if (!stuck[i]) continue;
      stuck[i] = std::ranges::any_of(picture.requests[i].keys,
                                     [&](int key) { return IsStuckOn(picture, stuck, i, key); });
      has_changed = has_changed || !stuck[i];
    }
  }
  return stuck;
}

}  // namespace fairlock::simulation
