#include "server/values/list.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace fairlock::values {

namespace {

// A cursor is a place, counted from the lowest one.
std::uint64_t CursorOf(std::int64_t place) {
  return static_cast<std::uint64_t>(place) ^ (std::uint64_t{1} << 63);
}

}  // namespace

void List::Push(ListEnd end, std::string_view element) {
  const bool is_left = end == ListEnd::kLeft;
  std::int64_t place = 0;
  if (!elements_.empty()) {
    place = is_left ? elements_.front().place - kPlaceStep : elements_.back().place + kPlaceStep;
  }
  changed_.Note(place);
  Element added{place, std::string(element)};
  if (is_left) {
    elements_.push_front(std::move(added));
  } else {
    elements_.push_back(std::move(added));
  }
  bytes_ += element.size() + kElementBytes;
}

std::string List::Pop(ListEnd end) {
  const bool is_left = end == ListEnd::kLeft;
  Element& popped = is_left ? elements_.front() : elements_.back();
  changed_.Note(popped.place);
  std::string text = std::move(popped.text);
  is_left ? elements_.pop_front() : elements_.pop_back();
  bytes_ -= text.size() + kElementBytes;
  return text;
}

void List::Insert(std::size_t index, std::string_view element) {
  if (index == 0 || index == size()) {
    return Push(index == 0 ? ListEnd::kLeft : ListEnd::kRight, element);
  }
  if (elements_[index].place - elements_[index - 1].place < 2) MakePlaceBefore(index);
  const std::int64_t before = elements_[index - 1].place;
  const std::int64_t place = before + (elements_[index].place - before) / 2;
  changed_.Note(place);
  elements_.insert(elements_.begin() + static_cast<std::ptrdiff_t>(index),
                   {place, std::string(element)});
  bytes_ += element.size() + kElementBytes;
}

// The more elements are spread, the more places must be left between two of them, so that it takes
// longer until they must be spread again: each insertion costs O(log n) changes on average.
void List::MakePlaceBefore(std::size_t index) {
  std::size_t reach = 4;
  for (std::int64_t step_min = 64;; step_min += step_min / 2) {
    const std::size_t first = index > reach ? index - reach : 0;
    if (Spread(first, std::min(index + reach, size()), step_min)) return;
    reach *= 2;
  }
}

bool List::Spread(std::size_t first, std::size_t end, std::int64_t step_min) {
  const auto steps = static_cast<std::int64_t>(end - first) + 1;
  // There is as much room as needed before the first element and behind the last one.
  std::int64_t low = 0;
  if (first > 0) {
    low = elements_[first - 1].place;
  } else if (end < size()) {
    low = elements_[end].place - steps * kPlaceStep;
  }
  const std::int64_t high = end < size() ? elements_[end].place : low + steps * kPlaceStep;
  const std::int64_t step = (high - low) / steps;
  if (step < step_min && end - first < size()) return false;
  for (std::size_t i = first; i < end; ++i) {
    changed_.Note(elements_[i].place);
    low += step;
    elements_[i].place = low;
    changed_.Note(low);
  }
  return true;
}

void List::Replace(std::size_t index, std::string_view element) {
  Element& replaced = elements_[index];
  changed_.Note(replaced.place);
  bytes_ -= replaced.text.size();
  bytes_ += element.size();
  replaced.text = element;
}

void List::Erase(std::size_t index) {
  changed_.Note(elements_[index].place);
  bytes_ -= elements_[index].text.size() + kElementBytes;
  elements_.erase(elements_.begin() + static_cast<std::ptrdiff_t>(index));
}

std::size_t List::EraseEqual(std::string_view element, std::int64_t count) {
  const bool is_from_right = count < 0;
  std::uint64_t left =
      is_from_right ? -static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
  if (left == 0) left = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < size() && found.size() < left; ++i) {
    const std::size_t index = is_from_right ? size() - 1 - i : i;
    if (elements_[index].text == element) found.push_back(index);
  }
  if (found.size() == 1) {
    Erase(found.front());
    return 1;
  }
  if (is_from_right) std::ranges::reverse(found);
  auto next = found.begin();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < size() && !found.empty(); ++i) {
    if (next != found.end() && *next == i) {
      changed_.Note(elements_[i].place);
      bytes_ -= elements_[i].text.size() + kElementBytes;
      ++next;
    } else {
      if (kept != i) elements_[kept] = std::move(elements_[i]);
      ++kept;
    }
  }
  if (!found.empty()) elements_.resize(kept);
  return found.size();
}

std::size_t List::IndexOf(std::int64_t place) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(elements_, place, {}, &Element::place) -
                                  elements_.begin());
}

void List::TakeChanged(const VisitElement& put, const VisitElement& erase) {
  for (const std::int64_t place : changed_.Take()) {
    const std::size_t index = IndexOf(place);
    if (index < size() && elements_[index].place == place) {
      put({.type = rows::ValueType::kList, .place = place, .text = elements_[index].text});
    } else {
      erase({.type = rows::ValueType::kList, .place = place});
    }
  }
}

std::uint64_t List::VisitFrom(std::uint64_t cursor, std::size_t count,
                              const VisitElement& visit) const {
  const auto below = static_cast<std::int64_t>(cursor ^ (std::uint64_t{1} << 63));
  std::size_t index = cursor == 0 ? size() : IndexOf(below);
  for (; index > 0 && count > 0; --count) {
    const Element& element = elements_[--index];
    visit({.type = rows::ValueType::kList, .place = element.place, .text = element.text});
  }
  return index == 0 ? 0 : CursorOf(elements_[index].place);
}

void List::Restore(const rows::Element& element) {
  elements_.push_back({element.place, std::string(element.text)});
  bytes_ += element.text.size() + kElementBytes;
}

std::size_t List::FreeSome(std::size_t elements_max) {
  const std::size_t freed = std::min(elements_max, size());
  for (std::size_t i = 0; i < freed; ++i) elements_.pop_back();
  return freed;
}

}  // namespace fairlock::values
