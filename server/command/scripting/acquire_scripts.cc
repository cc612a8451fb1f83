#include "server/command/scripting/acquire_scripts.h"

#include <algorithm>
#include <array>

namespace fairlock::command {

namespace {

const auto& AcquireScripts() {
  static const std::array scripts = {
      script::ParseDigest("e5a322e2634ef59a516e8ea150cb085afafee684"),  // of redlock 4.2
      script::ParseDigest("96da70f7716f27d278a5218544df37fd8b0a5e4c"),  // of redlock 5.0
  };
  return scripts;
}

}  // namespace

bool AsksByExists(const script::Digest& digest) {
  return std::ranges::find(AcquireScripts(), digest) != AcquireScripts().end();
}

}  // namespace fairlock::command
