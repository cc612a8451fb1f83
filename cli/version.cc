#include "cli/version.h"

namespace fairlock::cli {

std::string_view Version() { return FAIRLOCK_VERSION; }

}  // namespace fairlock::cli
