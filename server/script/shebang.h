// The first line of a script that says what it is, as of Redis 7: "#!lua flags=no-writes".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fairlock::script {

struct Shebang {
  std::size_t bytes = 0;  // before the end of its line; 0: there is none
  bool is_read_only = false;
  std::string error = {};  // empty: it is one that Redis takes
};

Shebang ReadShebang(std::string_view text);

}  // namespace fairlock::script
