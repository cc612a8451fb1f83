// One element of a reply: what one line announces, without the elements inside it.

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
  bool is_attribute = false;     // the reply itself comes behind it
  std::uint64_t children = 0;    // elements that follow and belong to this one
  std::string_view text = {};    // as in Reply; a view into the input
  std::string_view format = {};  // kVerbatim
  std::int64_t integer = 0;      // as in Reply
  double number = 0;             // as in Reply
  std::size_t end = 0;           // kWhole: behind the element
  std::size_t needed_bytes = 0;  // kPartial: nothing more is known before the input has this size
  std::string_view error = {};   // kInvalid; static text
};

// The element at `at`. One that would end behind `bytes_max` is invalid.
ReplyElement ReadReplyElement(std::string_view input, std::size_t at, std::size_t bytes_max);

}  // namespace fairlock::protocol
