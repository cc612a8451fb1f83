// Compares the events of the engine with those of the reference model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/outcome.h"

namespace fairlock::simulation {

// Checks the promise that listeners get each event once, in order on each key, in the same turn,
// when it is true: owner, token, reason, other owner, and durations. The engine may choose the
// order between keys.
class EventBook {
 public:
  explicit EventBook(std::size_t keys) : engine_(keys), model_(keys) {}

  // Records the events of one call from both sides, however many keys they concern.
  void Note(const std::vector<ToldEvent>& engine, const std::vector<ToldEvent>& model);
  // The first difference; nullopt: they agree so far. `is_whole`: neither side may have more events
  // than the other. Not so after a lagging Advance, which may have done more, or less, than is
  // visible from outside.
  std::optional<std::string> Compare(bool is_whole);

 private:
  using Page = std::vector<ToldEvent>;  // events of one key that the other side has not reported

  std::vector<Page> engine_;
  std::vector<Page> model_;
  std::optional<std::string> problem_;
};

}  // namespace fairlock::simulation
