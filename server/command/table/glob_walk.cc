#include "server/command/table/glob_walk.h"

#include "server/engine/api/glob.h"

namespace fairlock::command {

std::string DescribeLongGlob(std::string_view name, std::string_view glob) {
  if (glob.size() <= engine::kGlobBytesMax) return "";
  return std::string(name) + " pattern must have at most " + std::to_string(engine::kGlobBytesMax) +
         " bytes, got " + std::to_string(glob.size());
}

}  // namespace fairlock::command
