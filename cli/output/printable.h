// Bytes that somebody else chose, made safe for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fairlock::cli {

// The characters that the terminal is asked to draw.
enum class Charset { kAscii, kUtf8 };

// Of the locale, which this call takes from the environment. To be called once, at the start.
Charset AdoptLocale();

// Every byte can be read back: `\` becomes `\\`; line ends, tabs and other control characters,
// bytes that are not UTF-8, and characters that move or hide what stands beside them (direction
// marks, zero width) become \n, \t, \r, \xHH or \u{HEX}. With kAscii so does all that is not ASCII.
std::string Printable(std::string_view bytes, Charset charset);

// The same, but a `\` stays one: for texts in which it already escapes.
std::string PrintableText(std::string_view bytes, Charset charset);

// A JSON text that says the same, in which all that a terminal would obey is escaped as \uHHHH.
std::string PrintableJson(std::string_view json, Charset charset);

// As Printable(), in single quotes, cut with an ellipsis after `bytes_max` bytes: for messages.
std::string Quoted(std::string_view bytes, Charset charset = Charset::kAscii,
                   std::size_t bytes_max = 64);

// Columns that a printable text takes on a terminal.
std::size_t DisplayWidth(std::string_view printable, Charset charset);

// The text if it fits, else its beginning with an ellipsis, in at most `columns` columns.
std::string CutToWidth(std::string_view printable, std::size_t columns, Charset charset);

}  // namespace fairlock::cli
