#include "server/command/command_table.h"

#include <cassert>
#include <string>

#include "server/command/text.h"

namespace fairlock::command {

namespace {

// FNV-1a over the upper-case name.
std::size_t HashOfName(std::string_view name) {
  std::uint32_t hash = 2166136261U;
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(ToUpper(c));
    hash *= 16777619U;
  }
  return hash;
}

}  // namespace

CommandTable::CommandTable()
    : CommandTable({LockCommands(), MlockCommands(), LookCommands(), RecordCommands(),
                    LimitCommands(), RedisWriteCommands(), RedisKeyCommands(), RedisWalkCommands(),
                    ScriptCommands(), SubscriptionCommands(), TransactionCommands(),
                    ConnectionCommands(), AclCommands(), ClientCommands(), ServerCommands(),
                    IntrospectionCommands()}) {}

CommandTable::CommandTable(std::initializer_list<std::span<const CommandSpec>> families) {
  for (const auto family : families) {
    for (const CommandSpec& spec : family) {
      rows_.push_back(&spec);
      std::size_t slot = HashOfName(spec.name) % kSlots;
      while (slots_[slot] != 0) slot = (slot + 1) % kSlots;
      slots_[slot] = static_cast<std::uint16_t>(rows_.size());
    }
  }
  assert(rows_.size() < kSlots / 2);
}

std::size_t CommandTable::IndexOf(std::string_view name) const {
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
