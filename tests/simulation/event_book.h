// Compares the events of the engine with those of the reference model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/outcome.h"

namespace fairlock::simulation {

// Checks the promise that listeners get each event exactly once, in order on each key, in the turn
// in which it happens, while it is true, and with the right contents: owner, token, reason, other
// owner, and durations. The engine may choose the order across keys.
class EventBook {
 public:
  explicit EventBook(std::size_t keys) : engine_(keys), model_(keys) {}

  // Records the events of one call from both sides, however many keys they concern.
  void Note(const std::vector<ToldEvent>& engine, const std::vector<ToldEvent>& model);
  // Returns the first difference; nullopt if the sides agree so far. `is_whole` means that neither
  // side may have more events than the other. This is not required after a lagging Advance, which
  // may have done more, or less, than can be seen from outside.
  std::optional<std::string> Compare(bool is_whole);

 private:
  using Page = std::vector<ToldEvent>;  // events of one key that only this side has reported so far

  std::vector<Page> engine_;
  std::vector<Page> model_;
  std::optional<std::string> problem_;
};

}  // namespace fairlock::simulation
