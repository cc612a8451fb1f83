// The percentiles of waits and holds that are reported.
#pragma once

#include <array>
#include <string_view>

namespace fairlock::record {

struct Quantile {
  std::string_view name;  // suffix of the field name
  double part;
};

inline constexpr auto kQuantiles = std::to_array<Quantile>(
    {{"_p50_ms", 0.5}, {"_p90_ms", 0.9}, {"_p99_ms", 0.99}, {"_p999_ms", 0.999}});

}  // namespace fairlock::record
