#include "cli/connection/reply_fields.h"

namespace fairlock::cli {

const protocol::Reply* FindField(const protocol::Reply& map, std::string_view name) {
  for (std::size_t i = 0; i + 1 < map.elements.size(); i += 2) {
    if (map.elements[i].text == name) return &map.elements[i + 1];
  }
  return nullptr;
}

std::string TextField(const protocol::Reply& map, std::string_view name) {
  const protocol::Reply* const field = FindField(map, name);
  return field == nullptr ? "" : field->text;
}

std::optional<std::int64_t> IntegerField(const protocol::Reply& map, std::string_view name) {
  const protocol::Reply* const field = FindField(map, name);
  if (field == nullptr || field->type != protocol::ReplyType::kInteger) return std::nullopt;
  return field->integer;
}

}  // namespace fairlock::cli
