#include "server/values/hash.h"

#include <utility>

namespace fairlock::values {

namespace {

rows::Element ElementOf(const Hash::Field& field) {
  return {.type = rows::ValueType::kHash, .name = field.name, .text = field.value};
}

std::size_t BytesOf(const Hash::Field& field) {
  return field.name.size() + field.value.size() + kElementBytes;
}

}  // namespace

const std::string* Hash::Find(std::string_view name) const {
  const Field* field = fields_.Find(name);
  return field == nullptr ? nullptr : &field->value;
}

std::vector<const std::string*> Hash::FindAll(std::span<const std::string_view> names) const {
  std::vector<const std::string*> found(names.size());
  const auto fields = fields_.FindAll(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (fields[i] != nullptr) found[i] = &fields[i]->value;
  }
  return found;
}

bool Hash::Set(std::string_view name, std::string_view value) {
  changed_.Note(name);
  if (Field* field = fields_.Find(name)) {
    bytes_ += value.size();
    bytes_ -= field->value.size();
    field->value = value;
    return false;
  }
  auto* field = new Field{std::string(name), std::string(value)};
  fields_.Add(*field);
  bytes_ += BytesOf(*field);
  return true;
}

std::size_t Hash::SetAll(std::span<const std::string_view> names_and_values) {
  const std::size_t before = size();
  for (std::size_t i = 0; i < names_and_values.size(); i += 2) {
    Set(names_and_values[i], names_and_values[i + 1]);
  }
  return size() - before;
}

bool Hash::Erase(std::string_view name) {
  Field* field = fields_.Find(name);
  if (field != nullptr) Erase(*field);
  return field != nullptr;
}

void Hash::Erase(Field& field) {
  changed_.Note(field.name);
  bytes_ -= BytesOf(field);
  fields_.Remove(field);
  Field::Free(&field);
}

std::size_t Hash::EraseAll(std::span<const std::string_view> names) {
  const std::size_t before = size();
  for (const std::string_view name : names) Erase(name);
  return before - size();
}

void Hash::TakeChanged(const VisitElement& put, const VisitElement& erase) {
  for (const std::string& name : changed_.Take()) {
    const Field* field = fields_.Find(name);
    if (field != nullptr) {
      put(ElementOf(*field));
    } else {
      erase({.type = rows::ValueType::kHash, .name = name});
    }
  }
}

std::uint64_t Hash::VisitFrom(std::uint64_t cursor, std::size_t count,
                              const VisitElement& visit) const {
  return VisitBackwards(size(), cursor, count,
                        [&](std::size_t at) { visit(ElementOf(fields_.at(at))); });
}

}  // namespace fairlock::values
