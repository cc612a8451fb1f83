// Random numbers that are the same on every machine and with every standard library.
#pragma once

#include <cassert>
#include <cstdint>

namespace fairlock::simulation {

// SplitMix64. A value type; its sequence depends only on the seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    return mixed ^ (mixed >> 31);
  }

  // 0 .. bound - 1.
  std::uint64_t Below(std::uint64_t bound) {
    assert(bound > 0);
    return Next() % bound;
  }

  // low .. high, both inclusive.
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    assert(low <= high);
    return low + static_cast<std::int64_t>(Below(static_cast<std::uint64_t>(high - low) + 1));
  }

  bool OneIn(std::uint64_t n) { return Below(n) == 0; }

  // 1 .. max, with each order of magnitude about equally likely.
  std::int64_t Magnitude(std::int64_t max) {
    std::int64_t bound = 2;
    while (bound < max && !OneIn(4)) bound *= 3;
    return Between(1, bound < max ? bound : max);
  }

 private:
  std::uint64_t state_;
};

}  // namespace fairlock::simulation
