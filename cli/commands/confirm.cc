#include "cli/commands/confirm.h"

#include <unistd.h>

#include <iostream>

namespace fairlock::cli {

Result<bool> Confirm(const Context& context, const std::string& question) {
  if (::isatty(STDIN_FILENO) != 1 || !context.out.is_terminal) {
    return Failure{kExitWrongUse,
                   "nothing was done: confirmation needs a terminal; --yes skips it"};
  }
  context.Print(question + " [y/N] ");
  std::string answer;
  std::getline(std::cin, answer);
  const bool is_yes = answer == "y" || answer == "Y" || answer == "yes";
  if (!is_yes) context.Print("Nothing was done.\n");
  return is_yes;
}

}  // namespace fairlock::cli
