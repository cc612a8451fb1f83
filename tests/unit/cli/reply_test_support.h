// Replies of a server, as the tests write them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/reply.h"

namespace fairlock::cli {

inline protocol::Reply Text(std::string_view text) {
  protocol::Reply reply;
  if (text.empty()) return reply;
  reply.type = protocol::ReplyType::kBulk;
  reply.text = text;
  return reply;
}

inline protocol::Reply Number(std::int64_t number) {
  protocol::Reply reply;
  reply.type = protocol::ReplyType::kInteger;
  reply.integer = number;
  return reply;
}

inline protocol::Reply Map(
    std::initializer_list<std::pair<std::string_view, protocol::Reply>> fields) {
  protocol::Reply reply;
  reply.type = protocol::ReplyType::kMap;
  for (const auto& [name, value] : fields) {
    reply.elements.push_back(Text(name));
    reply.elements.push_back(value);
  }
  return reply;
}

inline protocol::Reply List(std::vector<protocol::Reply> elements) {
  protocol::Reply reply;
  reply.type = protocol::ReplyType::kArray;
  reply.elements = std::move(elements);
  return reply;
}

inline protocol::Reply Error(std::string_view text) {
  protocol::Reply reply;
  reply.type = protocol::ReplyType::kError;
  reply.text = text;
  return reply;
}

}  // namespace fairlock::cli
