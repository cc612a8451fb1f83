// A small hash: fields and their values, in the order in which the fields were created.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/values/names.h"

namespace fairlock::values {

// The memory of an element that is counted in addition to its bytes.
inline constexpr std::size_t kElementBytes = 16;

// Searching is linear; the functions for many names sort these first. A value type.
class Hash {
 public:
  struct Field {
    std::string name;
    std::string value;
  };

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

  const std::vector<Field>& fields() const { return fields_; }
  std::size_t size() const { return fields_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  void Append(std::string_view name, std::string_view value);
  void Replace(Field& field, std::string_view value);
  // Of each of these names, the position of its field, if there is one. The last one is no name's.
  std::vector<std::size_t> PositionsOf(const Names& names) const;

  std::vector<Field> fields_;
  std::size_t bytes_ = 0;
};

}  // namespace fairlock::values
