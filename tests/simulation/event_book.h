// What the engine tells of what happens, held against what the reference model says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/outcome.h"

namespace fairlock::simulation {

// Promises: of everything that happens those who listen are told once, in its order on each key,
// in the same turn, when it is so: who, under which token, why, who was in the way, and how long
// it took. Between keys the order is the engine's affair.
class EventBook {
 public:
  explicit EventBook(std::size_t keys) : engine_(keys), model_(keys) {}

  // Both of one thing that was done, however many keys it concerned.
  void Note(const std::vector<ToldEvent>& engine, const std::vector<ToldEvent>& model);
  // The first difference; none: so far they agree. `is_whole`: neither may know more than the
  // other. A lagging Advance may have done more, or less, than can be seen from outside.
  std::optional<std::string> Compare(bool is_whole);

 private:
  using Page = std::vector<ToldEvent>;  // of one key, what the other has not told

  std::vector<Page> engine_;
  std::vector<Page> model_;
  std::optional<std::string> problem_;
};

}  // namespace fairlock::simulation
