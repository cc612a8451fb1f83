// Prints docs/COMMANDS.md: an introduction from a file, every row of the command table, and every
// error that the server sends.

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

#include "protocol/wire_error.h"
#include "server/command/handlers/command_families.h"
#include "server/command/table/command_table.h"

namespace {

using fairlock::command::CommandSpec;
using fairlock::command::CommandTable;

struct Group {
  std::string_view name;
  std::string_view title;
};

constexpr std::array<Group, 11> kGroups = {{
    {"lock", "Locks"},
    {"redis", "Locks the Redis way"},
    {"hash", "Hashes"},
    {"list", "Lists"},
    {"set", "Sets"},
    {"sorted-set", "Sorted sets"},
    {"scripts", "Scripts"},
    {"pubsub", "Channels"},
    {"transactions", "Transactions"},
    {"connection", "Connections"},
    {"server", "The server"},
}};

// "CLIENT|LIST" becomes "CLIENT LIST".
std::string SpokenName(const CommandSpec& spec) {
  std::string name(spec.name);
  std::replace(name.begin(), name.end(), '|', ' ');
  return name;
}

void PrintCommand(const CommandSpec& spec) {
  const std::string name = SpokenName(spec);
  std::cout << "\n### " << name << "\n\n```\n" << name;
  if (!spec.syntax.empty()) std::cout << ' ' << spec.syntax;
  std::cout << "\n```\n\n" << spec.summary << ".\n\nTime: " << spec.complexity << ".\n";
}

void PrintGroup(const CommandTable& table, const Group& group) {
  std::cout << "\n## " << group.title << '\n';
  for (const CommandSpec* spec : table.rows()) {
    if (spec->group == group.name && spec->handler != nullptr) PrintCommand(*spec);
  }
}

void PrintErrors() {
  std::cout
      << "\n## Errors\n\nThe first word of an error is stable. The text after it names the "
         "wrong argument, its value, and the\nallowed values.\n\n| word | means |\n|---|---|\n";
  for (const fairlock::protocol::ErrorRow& row : fairlock::protocol::AllErrors()) {
    std::cout << "| `" << row.word << "` | " << row.meaning << " |\n";
  }
}

// Its links name pages as seen from its own folder; those of the printed page are beside it.
void PrintIntroduction(std::istream& introduction) {
  constexpr std::string_view kToDocs = "](../../docs/";
  for (std::string line; std::getline(introduction, line);) {
    for (std::size_t at = 0; (at = line.find(kToDocs, at)) != std::string::npos;) {
      line.replace(at, kToDocs.size(), "](");
    }
    std::cout << line << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::ifstream introduction(argc == 2 ? argv[1] : "");
  if (!introduction) {
    std::cerr << "usage: print_commands INTRODUCTION.md > COMMANDS.md\n";
    return 2;
  }
  std::cout << "<!-- Generated from tests/docs/commands_intro.md and the tables in the code: "
               "change those, then build the\n     target update_docs (cmake --build build/release "
               "--target update_docs). -->\n\n";
  PrintIntroduction(introduction);
  const CommandTable table = fairlock::command::WholeLanguage();
  for (const Group& group : kGroups) PrintGroup(table, group);
  PrintErrors();
  return std::cout ? 0 : 1;
}
