// Makes a failing list of steps as short as possible in a bounded time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace fairlock::simulation {

// Delta debugging (A. Zeller and R. Hildebrandt, "Simplifying and Isolating Failure-Inducing
// Input"): removes parts, large ones first, as long as `fails` still returns true. `indices` itself
// must fail. Calls `fails` at most about `attempts_max` times.
std::vector<std::size_t> Shorten(std::vector<std::size_t> indices, std::size_t attempts_max,
                                 const std::function<bool(const std::vector<std::size_t>&)>& fails);

// The command-line form of a list of indices, such as "3,5-9".
std::string FormatIndices(const std::vector<std::size_t>& indices);
// Empty if the text is not such a list.
std::vector<std::size_t> ParseIndices(const std::string& text);

}  // namespace fairlock::simulation
