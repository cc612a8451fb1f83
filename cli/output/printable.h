// Escapes untrusted bytes so that a terminal can print them safely, or a shell read them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fairlock::cli {

// The characters that the terminal can display.
enum class Charset { kAscii, kUtf8 };

// Sets the process's locale from the environment and returns its charset. Call once, at startup.
Charset AdoptLocale();

// Escapes reversibly: `\` becomes `\\`. Newlines, tabs and other control characters, bytes that are
// not UTF-8, and characters that move or hide their neighbours (direction marks, zero-width
// characters) become \n, \t, \r, \xHH or \u{HEX}. With kAscii, all characters that are not ASCII
// are escaped as well.
std::string Printable(std::string_view bytes, Charset charset);

// Like Printable(), but leaves `\` alone. Use it for texts that are already escaped.
std::string PrintableText(std::string_view bytes, Charset charset);

// Returns equivalent JSON in which every character that could control a terminal is escaped as
// \uHHHH.
std::string PrintableJson(std::string_view json, Charset charset);

// Printable() in single quotes, truncated with an ellipsis after `bytes_max` bytes: for messages.
std::string Quoted(std::string_view bytes, Charset charset = Charset::kAscii,
                   std::size_t bytes_max = 64);

// The number of terminal columns that a printable text occupies.
std::size_t DisplayWidth(std::string_view printable, Charset charset);

// Truncates the text with an ellipsis if it is wider than `columns`.
std::string CutToWidth(std::string_view printable, std::size_t columns, Charset charset);

// Whether a shell takes the bytes as one word without quotes.
bool IsShellWord(std::string_view bytes);

// One word that may be pasted: 'in quotes' if necessary, or $'\x1b', which bash and zsh know, if
// the bytes are not printable ASCII.
std::string ShellWord(std::string_view bytes);

}  // namespace fairlock::cli
