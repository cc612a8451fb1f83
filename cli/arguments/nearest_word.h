// Suggests the known word that a mistyped word was probably meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fairlock::cli {

// Returns the name that differs from the word by the fewest missing, wrong, extra or transposed
// letters; among equally near names, prefers one with the same letters. Empty if none is near
// enough.
std::string Nearest(std::string_view word, const std::vector<std::string>& names);

// Like Nearest(), but also knows the words that other tools use for these commands.
std::string SuggestCommand(std::string_view word, const std::vector<std::string>& names);

// "did you mean `locks`? ", or empty.
std::string Suggestion(const std::string& nearest);

}  // namespace fairlock::cli
