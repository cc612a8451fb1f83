// Makes a list of steps that fails as short as it can be in bounded time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace fairlock::simulation {

// Delta debugging (A. Zeller and R. Hildebrandt, "Simplifying and Isolating Failure-Inducing
// Input"): parts are left out, large ones first, as long as `fails` still holds. `indices` itself
// must fail. At most about `attempts_max` calls of `fails`.
std::vector<std::size_t> Shorten(std::vector<std::size_t> indices, std::size_t attempts_max,
                                 const std::function<bool(const std::vector<std::size_t>&)>& fails);

// "3,5-9": how a list of indices is written on the command line.
std::string FormatIndices(const std::vector<std::size_t>& indices);
// Empty if the text is not such a list.
std::vector<std::size_t> ParseIndices(const std::string& text);

}  // namespace fairlock::simulation
