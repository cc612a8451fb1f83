#include "server/values/list.h"

#include <utility>

namespace fairlock::values {

void List::Push(ListEnd end, std::string_view element) {
  if (end == ListEnd::kLeft) {
    elements_.emplace_front(element);
  } else {
    elements_.emplace_back(element);
  }
  bytes_ += element.size() + kElementBytes;
}

std::string List::Pop(ListEnd end) {
  std::string element;
  if (end == ListEnd::kLeft) {
    element = std::move(elements_.front());
    elements_.pop_front();
  } else {
    element = std::move(elements_.back());
    elements_.pop_back();
  }
  bytes_ -= element.size() + kElementBytes;
  return element;
}

void List::Erase(std::size_t index) {
  bytes_ -= elements_[index].size() + kElementBytes;
  elements_.erase(elements_.begin() + static_cast<std::ptrdiff_t>(index));
}

}  // namespace fairlock::values
