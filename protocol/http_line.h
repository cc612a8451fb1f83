// Recognises HTTP on a RESP port.

#pragma once

#include <span>
#include <string_view>

namespace fairlock::protocol {

// Whether the words of a line are an HTTP request line or a Host header. `first_line` means that
// the line is the first on its connection, so a GET with a target is meant for a web server.
bool IsHttpLine(std::span<const std::string_view> words, bool first_line);

}  // namespace fairlock::protocol
