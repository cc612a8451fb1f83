// One element of a reply, without the elements nested in it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/reply.h"

namespace fairlock::protocol {

struct ReplyElement {
  enum class Status : std::uint8_t { kWhole, kPartial, kInvalid };

  Status status = Status::kPartial;
  ReplyType type = ReplyType::kNull;
  bool is_attribute = false;     // the reply itself follows
  std::uint64_t children = 0;    // how many of the following elements are nested in this one
  std::string_view text = {};    // as in Reply; a view into the input
  std::string_view format = {};  // kVerbatim
  std::int64_t integer = 0;      // as in Reply
  double number = 0;             // as in Reply
  std::size_t end = 0;           // for kWhole, the end of the element
  // For kPartial, the input size below which nothing more can be decided.
  std::size_t needed_bytes = 0;
  std::string_view error = {};  // for kInvalid, what is wrong; static text
};

// Reads the element at `at`. An element that ends after `bytes_max` is invalid.
ReplyElement ReadReplyElement(std::string_view input, std::size_t at, std::size_t bytes_max);

}  // namespace fairlock::protocol
