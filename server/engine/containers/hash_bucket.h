// A bucket of a hash table: one cache line, whose slots are searched without a branch for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace fairlock::engine {

// Has seven slots. Each is a pointer whose upper 16 bits hold part of a hash, the tag, which is
// never 0. A slot that is 0 is free. A value type.
struct alignas(64) HashBucket {
  static constexpr std::size_t kSlots = 7;
  static constexpr int kTagShift = 48;
  static constexpr std::uint64_t kTagMask = 0xffff'0000'0000'0000;

  static std::uint64_t TagOf(std::uint64_t hash) {
    return (hash & kTagMask) | std::uint64_t{1} << kTagShift;
  }

  // Returns a bit mask of the slots with that tag; the lowest bit stands for the first slot.
  std::uint32_t SlotsWith(std::uint64_t tag) const {
    return Compare(static_cast<std::uint16_t>(tag >> kTagShift)) & kAllSlots;
  }
  std::uint32_t FreeSlots() const { return Compare(0) & kAllSlots; }
  bool empty() const { return FreeSlots() == kAllSlots; }

  std::array<std::uint64_t, kSlots> slots{};
  HashBucket* next = nullptr;

 private:
  static constexpr std::uint32_t kAllSlots = (1U << kSlots) - 1;

#ifdef __SSE2__
  // Compares the tag with the upper 16 bits of all eight words, which fit into one register. The
  // last word is `next`, not a slot.
  std::uint32_t Compare(std::uint16_t tag) const {
    const auto* words = reinterpret_cast<const __m128i*>(this);
    const auto tags_of = [&](int at) {
      const __m128 upper =
          _mm_shuffle_ps(_mm_castsi128_ps(_mm_load_si128(words + at)),
                         _mm_castsi128_ps(_mm_load_si128(words + at + 1)), _MM_SHUFFLE(3, 1, 3, 1));
      return _mm_srai_epi32(_mm_castps_si128(upper), 16);
    };
    const __m128i tags = _mm_packs_epi32(tags_of(0), tags_of(2));
    const __m128i equal = _mm_cmpeq_epi16(tags, _mm_set1_epi16(static_cast<short>(tag)));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(equal, equal)));
  }
#else
  std::uint32_t Compare(std::uint16_t tag) const {
    std::uint32_t equal = 0;
    for (std::size_t i = 0; i < kSlots; ++i) {
      equal |= static_cast<std::uint32_t>(slots[i] >> kTagShift == tag) << i;
    }
    return equal;
  }
#endif
};

static_assert(sizeof(HashBucket) == 64);

}  // namespace fairlock::engine
