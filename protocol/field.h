// Describes the fields of replies and of JSON: their names, types and meanings.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fairlock::protocol {

enum class FieldType : std::uint8_t {
  kText,
  kInteger,
  kFlag,
  kObject,        // described by `of`
  kObjects,       // an array of objects
  kIntegers,      // an array
  kTexts,         // an array
  kTextOrNumber,  // the value of an option: either type
};

struct Schema;

struct Field {
  std::string_view name;
  FieldType type = FieldType::kText;
  std::string_view description = {};
  bool is_nullable = false;
  bool is_optional = false;  // may be missing
  const Schema* of = nullptr;
};

// A kind of object.
struct Schema {
  std::string_view name;
  std::span<const Field> fields;
};

// The base of the tables of fields: the words of their rows. A table is a class with a function
// `ForEach`, which calls its argument with each field and with what reads the field's value: a
// function or a pointer to a member.
struct FieldTable {
  using Field = protocol::Field;
  static constexpr FieldType kText = FieldType::kText;
  static constexpr FieldType kInteger = FieldType::kInteger;
  static constexpr FieldType kObjects = FieldType::kObjects;
  static constexpr bool kMayBeNull = true;
  static constexpr bool kMayBeMissing = true;
};

// Returns the fields of a table in its order.
template <typename Table>
consteval auto FieldsOf() {
  constexpr std::size_t kCount = [] {
    std::size_t count = 0;
    Table::ForEach([&count](const Field&, auto) { ++count; });
    return count;
  }();
  std::array<Field, kCount> fields{};
  std::size_t next = 0;
  Table::ForEach([&](const Field& field, auto) { fields[next++] = field; });
  return fields;
}

}  // namespace fairlock::protocol
