// A small hash: fields and their values, in the order in which the fields were created.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fairlock::values {

// The memory of an element that is counted in addition to its bytes.
inline constexpr std::size_t kElementBytes = 16;

// Searching is linear. A value type.
class Hash {
 public:
  struct Field {
    std::string name;
    std::string value;
  };

  const std::string* Find(std::string_view name) const;
  // Returns whether the field is new.
  bool Set(std::string_view name, std::string_view value);
  // Returns whether there was such a field.
  bool Erase(std::string_view name);

  const std::vector<Field>& fields() const { return fields_; }
  std::size_t size() const { return fields_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::vector<Field> fields_;
  std::size_t bytes_ = 0;
};

}  // namespace fairlock::values
