// Writes requests, for fairlock's own clients.

#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace fairlock::protocol {

// Appends one request in multibulk form. `arguments` must not be empty; the first is the command.
void AppendRequest(std::string& out, std::span<const std::string_view> arguments);

inline void AppendRequest(std::string& out, std::initializer_list<std::string_view> arguments) {
  AppendRequest(out, std::span(arguments.begin(), arguments.size()));
}

}  // namespace fairlock::protocol
