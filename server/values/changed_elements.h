// The elements of a large value that have changed since they were last stored.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace fairlock::values {

// Costs nothing but a pointer while it is off. Movable.
template <typename Id>
class ChangedElements {
 public:
  bool is_on() const { return ids_ != nullptr; }
  void TurnOn() { ids_ = std::make_unique<std::vector<Id>>(); }
  template <typename From>
  void Note(const From& id) {
    if (ids_ != nullptr) ids_->emplace_back(id);
  }
  // Each element once, in ascending order; forgets them.
  std::vector<Id> Take() {
    std::vector<Id> taken = std::exchange(*ids_, {});
    std::ranges::sort(taken);
    taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
    return taken;
  }

 private:
  std::unique_ptr<std::vector<Id>> ids_;
};

}  // namespace fairlock::values
