// Makes mostly valid requests from the syntax in the command table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/command/handlers/command_families.h"
#include "server/command/table/command_syntax.h"
#include "server/command/table/command_table.h"
#include "tests/simulation/random.h"

namespace fairlock::fuzz {

// Immutable.
class RequestMaker {
 public:
  RequestMaker();

  // Returns a plain line without its line end: any command of the table, with arguments from a
  // small vocabulary, so that requests often use the same keys and owners.
  std::string Make(simulation::Random& random) const;
  // Returns one of the words that can occur in a request.
  static std::string_view AnyWord(simulation::Random& random);

 private:
  struct Form {
    std::string name;  // "CLIENT LIST"
    command::Syntax syntax;
    unsigned weight;
  };

  const command::CommandTable table_ = command::WholeLanguage();
  std::vector<Form> forms_;
  unsigned weights_ = 0;  // sum over all forms
};

}  // namespace fairlock::fuzz
