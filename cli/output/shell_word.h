// Words as a user types them in a shell.
#pragma once

#include <string>
#include <string_view>

namespace fairlock::cli {

// Whether a shell takes the bytes as one word without quotes.
bool IsShellWord(std::string_view bytes);

// One word that may be pasted: 'in quotes' if necessary, or $'\x1b', which bash and zsh know, if
// the bytes are not printable ASCII.
std::string ShellWord(std::string_view bytes);

}  // namespace fairlock::cli
