#include "server/command/table/command_table.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <string>

#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

// The FNV-1a hash of the upper-case name.
std::size_t HashOfName(std::string_view name) {
  std::uint32_t hash = 2166136261U;
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(ToUpper(c));
    hash *= 16777619U;
  }
  return hash;
}

constexpr std::size_t kShortBytes = sizeof(std::uint64_t);

// Returns the bytes of a name as one number, without the bits that distinguish case. REQUIRES: 1 to
// kShortBytes bytes.
std::uint64_t WordOf(std::string_view name) {
  std::uint64_t word = 0;
  if (name.size() >= 4) {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::memcpy(&first, name.data(), sizeof(first));
    std::memcpy(&last, name.data() + name.size() - sizeof(last), sizeof(last));
    word = first | static_cast<std::uint64_t>(last) << 8 * (name.size() - sizeof(last));
  } else {
    for (const char c : name) word = word << 8 | static_cast<unsigned char>(c);
  }
  return word & 0xdfdf'dfdf'dfdf'dfdf;
}

std::size_t HashOfWord(std::uint64_t word) {
  return static_cast<std::size_t>(word * 0x9e37'79b9'7f4a'7c15 >> 40);
}

// Whether the name is short: WordOf gives such a name a number that no other name has, except for
// case.
bool IsShort(std::string_view name) {
  return name.size() <= kShortBytes &&
         std::ranges::all_of(name, [](char c) { return c >= 'A' && c <= 'Z'; });
}

}  // namespace

CommandTable::CommandTable(std::initializer_list<std::span<const CommandSpec>> families) {
  for (const auto family : families) {
    for (const CommandSpec& spec : family) {
      rows_.push_back(&spec);
      Enter(spec.name, rows_.size() - 1);
    }
  }
  assert(rows_.size() < kSlots / 2);
}

void CommandTable::Enter(std::string_view name, std::size_t row) {
  std::size_t slot = HashOfName(name) % kSlots;
  while (slots_[slot] != 0) slot = (slot + 1) % kSlots;
  slots_[slot] = static_cast<std::uint16_t>(row + 1);
  if (!IsShort(name)) return;
  const std::uint64_t word = WordOf(name);
  ShortName& entry = short_names_[HashOfWord(word) % kSlots];
  if (entry.row == kNone) entry = {word, name.size(), row};
}

std::size_t CommandTable::IndexOf(std::string_view name) const {
  if (!name.empty() && name.size() <= kShortBytes) {
    const std::uint64_t word = WordOf(name);
    const ShortName& entry = short_names_[HashOfWord(word) % kSlots];
    if (entry.word == word && entry.bytes == name.size()) return entry.row;
  }
  for (std::size_t slot = HashOfName(name) % kSlots;; slot = (slot + 1) % kSlots) {
    if (slots_[slot] == 0) return kNone;
    const std::size_t index = slots_[slot] - 1U;
    if (EqualsIgnoreCase(rows_[index]->name, name)) return index;
  }
}

std::size_t CommandTable::IndexOfSubcommand(const CommandSpec& container,
                                            std::string_view name) const {
  if (name.size() > 64) return kNone;
  std::string whole(container.name);
  whole.append("|").append(name);
  return IndexOf(whole);
}

const CommandSpec* CommandTable::Find(std::string_view name) const {
  const std::size_t index = IndexOf(name);
  return index == kNone ? nullptr : rows_[index];
}

std::span<const CommandSpec* const> CommandTable::SubcommandsOf(
    const CommandSpec& container) const {
  if (!HasSubcommands(container)) return {};
  const std::size_t first = IndexOf(container.name) + 1;
  std::size_t end = first;
  while (end < rows_.size() && IsSubcommand(*rows_[end])) ++end;
  return std::span(rows_).subspan(first, end - first);
}

}  // namespace fairlock::command
