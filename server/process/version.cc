#include "server/process/version.h"

namespace fairlock::server {

std::string_view Version() { return FAIRLOCK_VERSION; }

}  // namespace fairlock::server
