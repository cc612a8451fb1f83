// A list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "server/values/hash.h"

namespace fairlock::values {

enum class ListEnd : std::uint8_t { kLeft, kRight };

// Each element has a place, by which it is stored; places ascend from left to right. The ends are
// O(1), and so is the access by index; an insertion or erasure in the middle moves the elements of
// the shorter side in memory. If there is no place left between two elements, their neighbours get
// others, so of what is stored, an insertion changes O(log n) elements on average. Movable.
class List {
 public:
  using Elements = IndexedView<List, std::string>;

  List() = default;
  List(List&&) = default;
  List& operator=(List&&) = default;

  void Push(ListEnd end, std::string_view element);
  // REQUIRES: the list is not empty.
  std::string Pop(ListEnd end);
  // Inserts an element before the one with that index, or behind all. REQUIRES: index <= size().
  void Insert(std::size_t index, std::string_view element);
  // REQUIRES: there is an element with that index.
  void Replace(std::size_t index, std::string_view element);
  void Erase(std::size_t index);
  // Erases up to `count` elements that are equal to `element`, from the left, or, if it is
  // negative, from the right; 0 means all. Returns how many.
  std::size_t EraseEqual(std::string_view element, std::int64_t count);

  const std::string& at(std::size_t index) const { return elements_[index].text; }
  Elements elements() const { return Elements(*this); }
  std::size_t size() const { return elements_.size(); }
  std::size_t bytes() const { return bytes_; }

  // For ValueStore, which stores the elements.
  void LogElements() { changed_.TurnOn(); }
  void TakeChanged(const VisitElement& put, const VisitElement& erase);
  std::uint64_t VisitFrom(std::uint64_t cursor, std::size_t count, const VisitElement& visit) const;
  // REQUIRES: the place is behind those of all elements.
  void Restore(const rows::Element& element);
  std::size_t FreeSome(std::size_t elements_max);

 private:
  struct Element {
    std::int64_t place;
    std::string text;
  };
  // Leaves room for insertions between two elements.
  static constexpr std::int64_t kPlaceStep = 1 << 20;

  // Spreads the elements around that index, so that there is a place before it.
  void MakePlaceBefore(std::size_t index);
  // Gives the elements from `first` to before `end` places between those of their neighbours, at
  // equal steps. Returns false if a step would be shorter than that.
  bool Spread(std::size_t first, std::size_t end, std::int64_t step_min);
  // The index of the first element whose place is not below that one.
  std::size_t IndexOf(std::int64_t place) const;

  std::deque<Element> elements_;
  std::size_t bytes_ = 0;
  ChangedElements<std::int64_t> changed_;
};

}  // namespace fairlock::values
