#include "protocol/request_writer.h"

#include <cassert>

#include "protocol/header_line.h"

namespace fairlock::protocol {

void AppendRequest(std::string& out, std::span<const std::string_view> arguments) {
  assert(!arguments.empty());
  AppendHeaderLine(out, '*', arguments.size());
  for (const std::string_view argument : arguments) {
    AppendHeaderLine(out, '$', argument.size());
    out.append(argument).append("\r\n");
  }
}

}  // namespace fairlock::protocol
