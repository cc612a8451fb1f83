// Requests of one connection that are read before the first of them is executed.
#pragma once

#include <array>
#include <cstdint>

#include "protocol/arguments.h"
#include "protocol/request_parser.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

// A request found in the input, not yet executed.
struct RequestAhead {
  protocol::Arguments arguments;  // views into the input
  std::size_t row = 0;            // of the command table, by its first word; kNone: there is none
  engine::KeyName key;            // the first that the row names; its hash is 0 if there is none
  std::size_t end = 0;            // of its bytes in the input
};

// So many requests are read at a time that the memory of their keys is on its way into the cache
// while others are read and executed. Scratch of the clients' Consume: one serves all of a loop.
struct RequestWindow {
  static constexpr std::size_t kSize = 16;

  std::array<RequestAhead, kSize> requests;
  std::size_t count = 0;
  // What came after them: kRequest if the window is full, else why there are no more.
  protocol::ParseResult last;
  std::size_t end = 0;  // up to here the input is read
};

}  // namespace fairlock::command
