// Which known word a mistyped one was meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fairlock::cli {

// The nearest of the names, by letters that are missing, wrong, too many or exchanged; of equally
// near ones that with the same letters. Empty: none is near.
std::string Nearest(std::string_view word, const std::vector<std::string>& names);

// The same, and words that other tools have for these commands.
std::string SuggestCommand(std::string_view word, const std::vector<std::string>& names);

// "did you mean `locks`? ", or empty.
std::string Suggestion(const std::string& nearest);

}  // namespace fairlock::cli
