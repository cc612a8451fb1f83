#include "json/reply_json.h"

#include <boost/json/serialize.hpp>

#include "json/base64.h"
#include "json/utf8.h"

namespace fairlock::json {

namespace {

// Returns false if a byte had to be replaced.
bool AppendUtf8(std::string& out, std::string_view bytes) {
  bool is_faithful = true;
  while (!bytes.empty()) {
    const std::size_t size = Utf8CharacterBytes(bytes);
    if (size == 0) {
      out += "\xef\xbf\xbd";
      is_faithful = false;
    } else {
      out += bytes.substr(0, size);
    }
    bytes.remove_prefix(size == 0 ? 1 : size);
  }
  return is_faithful;
}

boost::json::value ValueOf(const protocol::Reply& reply);

boost::json::array ArrayOf(const protocol::Reply& reply) {
  boost::json::array array;
  array.reserve(reply.elements.size());
  for (const protocol::Reply& element : reply.elements) array.push_back(ValueOf(element));
  return array;
}

boost::json::value ValueOf(const protocol::Reply& reply) {
  switch (reply.type) {
    case protocol::ReplyType::kNull:
      return nullptr;
    case protocol::ReplyType::kInteger:
      return reply.integer;
    case protocol::ReplyType::kBoolean:
      return reply.integer != 0;
    case protocol::ReplyType::kDouble:
      return reply.number;
    case protocol::ReplyType::kMap:
      return ObjectOf(reply);
    case protocol::ReplyType::kArray:
    case protocol::ReplyType::kSet:
    case protocol::ReplyType::kPush:
      return ArrayOf(reply);
    case protocol::ReplyType::kSimple:
    case protocol::ReplyType::kError:
    case protocol::ReplyType::kBulk:
    case protocol::ReplyType::kBigNumber:
    case protocol::ReplyType::kVerbatim:
      break;
  }
  std::string text;
  AppendUtf8(text, reply.text);
  return boost::json::value(text);
}

}  // namespace

void AddText(boost::json::object& object, std::string_view name, std::string_view bytes) {
  std::string text;
  const bool is_faithful = AppendUtf8(text, bytes);
  object[name] = text;
  if (!is_faithful) object[std::string(name) + "_base64"] = Base64(bytes);
}

void AddReply(boost::json::object& object, std::string_view name, const protocol::Reply& reply) {
  if (reply.type == protocol::ReplyType::kBulk) {
    AddText(object, name, reply.text);
  } else {
    object[name] = ValueOf(reply);
  }
}

boost::json::object ObjectOf(const protocol::Reply& map) {
  boost::json::object object;
  for (std::size_t i = 0; i + 1 < map.elements.size(); i += 2) {
    AddReply(object, map.elements[i].text, map.elements[i + 1]);
  }
  return object;
}

std::string Written(const boost::json::value& value) { return boost::json::serialize(value); }

}  // namespace fairlock::json
