#include "server/command/table/text.h"

#include "text/hexadecimal.h"

namespace fairlock::command {

std::string Escaped(std::string_view bytes, std::size_t bytes_max) {
  std::string escaped = text::Escaped(bytes.substr(0, bytes_max), "'\\");
  if (bytes.size() > bytes_max) escaped += "...";
  return escaped;
}

std::string Quoted(std::string_view bytes, std::size_t bytes_max) {
  return "'" + Escaped(bytes, bytes_max) + "'";
}

}  // namespace fairlock::command
