#include "server/engine/api/key_rules.h"

#include <algorithm>

#include "server/engine/api/types.h"

namespace fairlock::engine {

namespace {

bool IsLabelCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == ':' || c == '-';
}

}  // namespace

bool IsLabel(std::string_view text) {
  return !text.empty() && text.size() <= kLabelBytesMax &&
         std::all_of(text.begin(), text.end(), IsLabelCharacter);
}

}  // namespace fairlock::engine
