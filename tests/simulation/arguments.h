// The arguments that the simulations have in common.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>

#include "tests/simulation/faults/active_fault.h"

namespace fairlock::simulation {

inline constexpr int kBadArguments = 2;

inline bool ParseNumber(std::string_view text, std::uint64_t& number) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

// Parses "7" or "1..2000". Prints an error and returns false if it is neither.
inline bool ParseSeeds(std::string_view program, std::string_view text, std::uint64_t& first,
                       std::uint64_t& last) {
  const std::size_t dots = text.find("..");
  const std::string_view end = dots == std::string_view::npos ? text : text.substr(dots + 2);
  if (ParseNumber(text.substr(0, dots), first) && ParseNumber(end, last) && first <= last) {
    return true;
  }
  std::cerr << program << ": --seeds '" << text << "' is neither N nor A..B\n";
  return false;
}

// Switches the fault on; `none` is always there. Prints an error and returns false if the program
// has no such fault.
inline bool ActivateFault(std::string_view program, std::string_view name) {
  if (name == "none") return true;
  const auto names = FaultNames();
  if (names.empty()) {
    std::cerr << program << ": only " << program << "_faults has faults, and this is not it\n";
    return false;
  }
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    std::cerr << program << ": --fault must be one of the following, got '" << name << "': none";
    for (const std::string_view known : names) std::cerr << " " << known;
    std::cerr << "\n";
    return false;
  }
  active_fault = static_cast<int>(found - names.begin()) + 1;
  return true;
}

}  // namespace fairlock::simulation
