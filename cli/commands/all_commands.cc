#include "cli/commands/all_commands.h"

#include <vector>

namespace fairlock::cli {

namespace {

std::vector<CommandRow> Gather() {
  std::vector<CommandRow> rows;
  for (const auto& family :
       {StatusCommands(), LocksCommands(),      TopCommands(),      InspectCommands(),
        WhyCommands(),    OwnerCommands(),      HistoryCommands(),  WatchCommands(),
        RunCommands(),    ElectCommands(),      LockCommands(),     BreakCommands(),
        LimitCommands(),  ServerCommands(),     ClusterCommands(),  ClientCommands(),
        BenchCommands(),  CompletionCommands(), CompleteCommands(), HelpCommands()}) {
    rows.insert(rows.end(), family.begin(), family.end());
  }
  return rows;
}

}  // namespace

std::span<const CommandRow> AllCommands() {
  static const std::vector<CommandRow> rows = Gather();
  return rows;
}

}  // namespace fairlock::cli
