#include "storage/records/token_blocks.h"

#include <algorithm>
#include <cassert>

namespace fairlock::storage {

std::uint64_t FirstToken(const TokenStart& start) {
  const std::uint64_t seconds = std::min(start.seconds_since_2020, kTokenCeilingMax / kTokenBlock);
  // The fraction distinguishes starts within the same second.
  const std::uint64_t clock = seconds * kTokenBlock + start.milliseconds * kTokenBlock / 1000;
  const std::uint64_t first = std::max({start.stored_ceiling, clock, std::uint64_t{1}});
  return std::min(first + (start.is_copy ? kTokensOfACopy : 0), kTokenCeilingMax);
}

std::uint64_t TokenBlocks::next_ceiling() const {
  return std::min(ceiling_ + kTokenBlock, kTokenCeilingMax);
}

void TokenBlocks::Reserved(std::uint64_t ceiling) {
  assert(ceiling >= ceiling_);
  ceiling_ = ceiling;
}

}  // namespace fairlock::storage
