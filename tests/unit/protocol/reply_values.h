// Short notation for replies.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "protocol/reply.h"

namespace fairlock::protocol {

inline Reply Bulk(std::string text) { return {.type = ReplyType::kBulk, .text = std::move(text)}; }
inline Reply Integer(std::int64_t value) { return {.type = ReplyType::kInteger, .integer = value}; }
inline Reply Map(std::vector<Reply> elements) {
  return {.type = ReplyType::kMap, .elements = std::move(elements)};
}

}  // namespace fairlock::protocol
