#include "server/engine/state/recent_keys.h"

namespace fairlock::engine {

void RecentKey::Blend(float& mean, DurationMs value) {
  const auto sample = static_cast<float>(value);
  mean = mean < 0 ? sample : mean + (sample - mean) / 8;
}

RecentKey& RecentKeys::Touch(std::uint64_t hash) {
  if (hash == 0) hash = 1;
  RecentKey& first = records_[IndexOf(hash)];
  RecentKey& second = records_[IndexOf(hash) + 1];
  if (first.hash == hash) {
    ++first.touches;
    return first;
  }
  if (second.hash == hash) {
    ++second.touches;
    return second;
  }
  RecentKey& loser = first.touches <= second.touches ? first : second;
  // A key that survives must be used again, or it will be evicted the next time.
  first.touches /= 2;
  second.touches /= 2;
  loser = {};
  loser.hash = hash;
  loser.touches = 1;
  return loser;
}

const RecentKey* RecentKeys::Find(std::uint64_t hash) const {
  if (hash == 0) hash = 1;
  const std::size_t index = IndexOf(hash);
  if (records_[index].hash == hash) return &records_[index];
  if (records_[index + 1].hash == hash) return &records_[index + 1];
  return nullptr;
}

}  // namespace fairlock::engine
