#include "server/command/client/unit_warnings.h"

#include "server/command/client/client.h"
#include "server/command/environment/environment.h"
#include "server/command/table/text.h"

namespace fairlock::command {

void UnitWarnings::Warn(const ClientProfile& client, std::string_view command,
                        const BareDuration& duration) {
  constexpr std::size_t kNameBytesMax = 64;
  const std::string library = client.library_name.substr(0, kNameBytesMax);
  if (warned_.size() >= kLibrariesMax || !warned_.insert(library).second) return;
  const std::string option(duration.option);
  const std::string number = std::to_string(duration.ms);
  log_.LogWarning(
      (library.empty() ? "an unknown client library" : "client library " + Quoted(library)) + " (" +
      Escaped(client.address.peer) + ") sent " + std::string(command) + " with EX and " + option +
      " " + number + ": without a unit that is " + number + " ms, probably a mistake; " + option +
      " " + number + "s is seconds, " + option + " " + number +
      "ms avoids this warning, which is logged once per library");
}

}  // namespace fairlock::command
