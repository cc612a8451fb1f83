#include "server/values/element_table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fairlock::values {

namespace {

std::uint64_t name_seed = 0;

}  // namespace

std::uint64_t HashOfName(std::string_view name, std::uint64_t seed) {
  return XXH3_64bits_withSeed(name.data(), name.size(), seed);
}

void SetNameSeed(std::uint64_t seed) {
  if (name_seed == 0) name_seed = seed;
}

std::uint64_t NameSeed() { return name_seed; }

}  // namespace fairlock::values
