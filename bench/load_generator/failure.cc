#include "bench/load_generator/failure.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace fairlock::bench {

void Fail(std::string_view what) {
  std::fprintf(stderr, "fairlock_load: %.*s\n", static_cast<int>(what.size()), what.data());
  std::exit(1);
}

void FailWithErrno(std::string_view what) { Fail(std::string(what) + ": " + std::strerror(errno)); }

}  // namespace fairlock::bench
