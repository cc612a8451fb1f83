#include "json/json_text.h"

#include "json/utf8.h"
#include "text/hexadecimal.h"

namespace fairlock::json {

namespace {

constexpr std::string_view kReplacement = "\\ufffd";

}  // namespace

bool AppendJsonText(std::string& out, std::string_view bytes) {
  bool is_faithful = true;
  out += '"';
  while (!bytes.empty()) {
    const char c = bytes.front();
    const std::size_t size = Utf8CharacterBytes(bytes);
    if (c == '"' || c == '\\') {
      out.append(1, '\\').append(1, c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text::AppendHex(out.append("\\u00"), c);
    } else if (size > 0) {
      out.append(bytes.substr(0, size));
    } else {
      out.append(kReplacement);
      is_faithful = false;
    }
    bytes.remove_prefix(size == 0 ? 1 : size);
  }
  out += '"';
  return is_faithful;
}

}  // namespace fairlock::json
