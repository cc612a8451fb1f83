// A hash: fields and their values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rows/value_rows.h"
#include "server/values/element_table.h"

namespace fairlock::values {

// The memory of an element that is counted in addition to its bytes.
inline constexpr std::size_t kElementBytes = 16;

// Receives one element of a value, without the number of the value.
using VisitElement = std::function<void(const rows::Element&)>;

// Up to ElementTable::kFewElements fields are in the order in which they were created. Movable.
class Hash {
 public:
  struct Field {
    std::string name;
    std::string value;
    std::uint32_t position = 0;

    static void Free(Field* field) { delete field; }
  };
  using Fields = IndexedView<Hash, Field>;

  const std::string* Find(std::string_view name) const;
  // Returns the value of each of these fields, null if there is none.
  std::vector<const std::string*> FindAll(std::span<const std::string_view> names) const;
  // Returns whether the field is new.
  bool Set(std::string_view name, std::string_view value);
  // Sets fields, in order; names and values alternate. Returns how many are new.
  std::size_t SetAll(std::span<const std::string_view> names_and_values);
  // Returns whether there was such a field.
  bool Erase(std::string_view name);
  // Returns how many of these fields there were.
  std::size_t EraseAll(std::span<const std::string_view> names);

  Fields fields() const { return Fields(*this); }
  const Field& at(std::size_t position) const { return fields_.at(position); }
  bool is_ordered() const { return fields_.is_ordered(); }
  // For walks, as in ElementTable.
  const Field& ByPosition(std::size_t position) const { return fields_.at(position); }
  std::size_t size() const { return fields_.size(); }
  std::size_t bytes() const { return bytes_; }

  // For ValueStore, which stores the elements.
  void LogElements() { changed_.TurnOn(); }
  void TakeChanged(const VisitElement& put, const VisitElement& erase);
  std::uint64_t VisitFrom(std::uint64_t cursor, std::size_t count, const VisitElement& visit) const;
  void Restore(const rows::Element& element) { Set(element.name, element.text); }
  std::size_t FreeSome(std::size_t elements_max) { return fields_.FreeSome(elements_max); }

 private:
  void Erase(Field& field);

  ElementTable<Field> fields_;
  std::size_t bytes_ = 0;
  ChangedElements<std::string> changed_;
};

// Visits up to `count` positions below the cursor (from the end on if it is 0), and returns the
// next cursor, 0 after the first position.
template <typename Visit>
std::uint64_t VisitBackwards(std::size_t size, std::uint64_t cursor, std::size_t count,
                             Visit&& visit) {
  std::size_t at = cursor == 0 || cursor > size ? size : static_cast<std::size_t>(cursor);
  for (; at > 0 && count > 0; --count) visit(--at);
  return at;
}

}  // namespace fairlock::values
