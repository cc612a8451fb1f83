// The optional first line of a script, as in Redis 7 and later: "#!lua flags=no-writes".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fairlock::script {

struct Shebang {
  std::size_t bytes = 0;  // length without the line end; 0 if there is no shebang
  bool is_read_only = false;
  std::string error = {};  // empty if it is valid
};

Shebang ReadShebang(std::string_view text);

}  // namespace fairlock::script
