#include "json/json_text.h"

#include "json/utf8.h"

namespace fairlock::json {

namespace {

constexpr std::string_view kReplacement = "\\ufffd";

void AppendControl(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(c);
  out.append("\\u00").append(1, kHex[value >> 4]).append(1, kHex[value & 15]);
}

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
      AppendControl(out, c);
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
