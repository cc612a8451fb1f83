#include "tests/simulation/event_book.h"

#include <algorithm>

namespace fairlock::simulation {

void EventBook::Note(const std::vector<ToldEvent>& engine, const std::vector<ToldEvent>& model) {
  for (const ToldEvent& event : engine) {
    const bool is_known = event.key >= 0 && event.key < static_cast<int>(engine_.size());
    if (!is_known || !event.is_in_time) {
      problem_ = "a wrong event is told: " + Describe(event);
      return;
    }
    engine_[static_cast<std::size_t>(event.key)].push_back(event);
  }
  for (const ToldEvent& event : model) {
    model_[static_cast<std::size_t>(event.key)].push_back(event);
  }
}

std::optional<std::string> EventBook::Compare(bool is_whole) {
  for (std::size_t key = 0; key < engine_.size() && !problem_; ++key) {
    Page& engine = engine_[key];
    Page& model = model_[key];
    if (engine.empty() && model.empty()) continue;
    const std::size_t common = std::min(engine.size(), model.size());
    for (std::size_t i = 0; i < common && !problem_; ++i) {
      if (engine[i] == model[i]) continue;
      problem_ = "another event is told: " + Describe(engine[i]) +
                 "\nthe model knows:        " + Describe(model[i]);
    }
    engine.erase(engine.begin(), engine.begin() + static_cast<std::ptrdiff_t>(common));
    model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(common));
    if (!is_whole || problem_) continue;
    if (!engine.empty()) problem_ = "an event too many is told: " + Describe(engine.front());
    if (!model.empty()) problem_ = "an event is not told: " + Describe(model.front());
  }
  return problem_;
}

}  // namespace fairlock::simulation
