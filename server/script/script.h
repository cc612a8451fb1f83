// A compiled script.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>

#include "server/script/digest.h"

namespace fairlock::script {

struct Script : boost::intrusive::list_base_hook<> {
  Digest digest;
  std::size_t text_bytes = 0;
  bool has_shebang = false;
  bool is_read_only = false;  // because its shebang says so
  int function = 0;           // reference to the compiled function in the registry of the Lua state
};

}  // namespace fairlock::script
