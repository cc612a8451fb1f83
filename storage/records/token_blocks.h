// Determines which tokens may be granted: those below a ceiling that is made durable before it is
// needed.
#pragma once

#include <cstdint>

namespace fairlock::storage {

inline constexpr std::uint64_t kTokenBlock = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kTokenCeilingMax = std::uint64_t{1} << 52;
// A copy cannot know how many tokens its original has granted since, so its tokens start this much
// higher: the equivalent of one day.
inline constexpr std::uint64_t kTokensOfACopy = 86'400 * kTokenBlock;

struct TokenStart {
  std::uint64_t stored_ceiling = 0;      // 0: none is stored
  std::uint64_t seconds_since_2020 = 0;  // according to the wall clock; may be wrong
  std::uint64_t milliseconds = 0;        // within the current second
  bool is_copy = false;
};

// Returns the larger of the stored ceiling and the seconds (including the fraction) times 2^20, at
// least 1 and at most 2^52. So the clock can only raise it, and no token is granted twice after a
// directory was lost, copied or rolled back, unless the clock also went back or more than 2^20
// tokens per second were granted.
std::uint64_t FirstToken(const TokenStart& start);

// Decides when the next block must be reserved, which is early enough that no grant has to wait for
// it.
//
// To reserve a block, write a token ceiling of `next_ceiling()` durably, then call Reserved. No
// token at or above `ceiling()` may be granted. For use by the loop thread only.
class TokenBlocks {
 public:
  // No block is reserved at first.
  explicit TokenBlocks(std::uint64_t first_token) : ceiling_(first_token) {}

  std::uint64_t ceiling() const { return ceiling_; }
  bool MayGrant(std::uint64_t token) const { return token < ceiling_; }

  // True if half of the last block is used or nothing is reserved. Stays true until Reserved.
  bool NeedsBlock(std::uint64_t next_token) const {
    return next_token + kTokenBlock / 2 >= ceiling_ && ceiling_ < kTokenCeilingMax;
  }
  std::uint64_t next_ceiling() const;
  void Reserved(std::uint64_t ceiling);

 private:
  std::uint64_t ceiling_;
};

}  // namespace fairlock::storage
