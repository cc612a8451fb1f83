// The table of commands. Each command has one row, which is found by the command's name.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

namespace fairlock::command {

struct Invocation;

// Flags as COMMAND shows them, except where noted.
enum CommandFlag : std::uint32_t {
  kWrite = 1U << 0,
  kReadOnly = 1U << 1,
  kFast = 1U << 2,
  kBlocking = 1U << 3,
  kAdmin = 1U << 4,
  kDangerous = 1U << 5,
  kConnection = 1U << 6,
  kNoAuth = 1U << 7,
  kContainer = 1U << 8,  // has subcommands, and also a handler for the command alone
  kPubsub = 1U << 9,
  kWhileConfined = 1U << 10,  // allowed for a subscriber in RESP2; not shown
  kTakesLock = 1U << 11,      // refused while the disk is nearly full
  kOnlyWhenReady =
      1U << 12,           // refused while locks are loaded, as kWrite and kReadOnly are; not shown
  kNoMulti = 1U << 13,    // not allowed between MULTI and EXEC
  kNotQueued = 1U << 14,  // executed at once between MULTI and EXEC; not shown
  kNoScript = 1U << 15,   // no script may call it
  kUnowned = 1U << 16,    // may end or change others' holds; a category, not shown as a flag
  kGrows = 1U << 17,      // refused while memory is short, even without keys; not shown
  kRunsScripts = 1U << 18,  // waits for its turn while scripts of others run; not shown
  // The log says who asked for it, and why: it ends or changes what belongs to others, or changes
  // the server, or shows what others do; not shown.
  kAudited = 1U << 19,
};

// What a command does with its keys, in Redis' terms. kDefault derives it from the flags.
enum class KeyEffect : std::uint8_t {
  kDefault,             // RW access update; RO access
  kChange,              // RW access update, although the command itself has no write flag
  kTest,                // RO: tests that the key exists, without its value
  kUpdate,              // RW update
  kOverwrite,           // OW update
  kInsert,              // OW insert
  kDelete,              // RM delete
  kAddElements,         // RW insert
  kDeleteElements,      // RW delete
  kAccessDelete,        // RW access delete
  kMoveElement,         // the first of two keys: RW access delete; the second: RW insert
  kOverwriteUnlessGet,  // SET: RW access update with GET, else OW update
  kChangeUnlessGet,     // BITFIELD: RO access with nothing but GET, else RW access update
};

// Where the keys are among the arguments; if `first` is 0, there are no keys. As in Redis, a `last`
// of -1 means the last argument.
struct KeyPositions {
  int first = 0;
  int last = 0;
  int step = 0;
  bool is_counted = false;  // the argument before the first key states the number of keys
  KeyEffect effect = KeyEffect::kDefault;
  bool may_be_none = false;   // a request may have no keys, although the command has key positions
  bool are_channels = false;  // shard channels, which have slots as keys do, but are no keys
  // The argument after the only key states the number of the others, which follow and are only
  // read.
  bool counts_others = false;
};

inline constexpr KeyPositions kFirstKey = {1, 1, 1};
inline constexpr KeyPositions kEveryKey = {1, -1, 1};
inline constexpr KeyPositions kShardChannel = {
    .first = 1, .last = 1, .step = 1, .are_channels = true};
inline constexpr KeyPositions kEveryShardChannel = {
    .first = 1, .last = -1, .step = 1, .are_channels = true};

constexpr KeyPositions With(KeyPositions keys, KeyEffect effect) {
  keys.effect = effect;
  return keys;
}

struct CommandSpec {
  std::string_view name;         // upper case; for a subcommand "CLIENT|LIST"
  void (*handler)(Invocation&);  // null: has subcommands only
  int arity;                     // includes the name; negative: at least that many arguments
  std::uint32_t flags;
  KeyPositions keys;
  // "lock", "redis", "hash", "list", "set", "sorted-set", "scripts", "pubsub", "transactions",
  // "connection" or "server".
  std::string_view group;
  std::string_view syntax;      // the arguments, in the notation of docs/COMMANDS.md
  std::string_view summary;     // one sentence without a full stop
  std::string_view complexity;  // "O(1)"
  std::string_view since = "0.1.0";
};

// Whether the second word of a request selects a subcommand.
constexpr bool HasSubcommands(const CommandSpec& spec) {
  return spec.handler == nullptr || (spec.flags & kContainer) != 0;
}

constexpr bool IsSubcommand(const CommandSpec& spec) {
  return spec.name.find('|') != std::string_view::npos;
}

// Whether the command is for hashes, lists, sets or sorted sets.
constexpr bool IsOfValues(const CommandSpec& spec) {
  return spec.group == "hash" || spec.group == "list" || spec.group == "set" ||
         spec.group == "sorted-set";
}

// `arguments` counts the name, and the subcommand's name if there is one.
constexpr bool FitsArity(const CommandSpec& spec, std::size_t arguments) {
  const auto count = static_cast<int>(arguments);
  return spec.arity >= 0 ? count == spec.arity : count >= -spec.arity;
}

// Immutable after construction. Find is O(1) and does not allocate.
class CommandTable {
 public:
  explicit CommandTable(std::initializer_list<std::span<const CommandSpec>> families);

  static constexpr std::size_t kNone = ~std::size_t{0};

  // Returns the index in rows() of the command with that name, in upper or lower case, or kNone. A
  // subcommand is found by "CONTAINER|NAME".
  std::size_t IndexOf(std::string_view name) const;
  std::size_t IndexOfSubcommand(const CommandSpec& container, std::string_view name) const;
  // Like IndexOf, but returns the row, or null.
  const CommandSpec* Find(std::string_view name) const;

  // All rows in the order of their families; subcommands follow their container.
  std::span<const CommandSpec* const> rows() const { return rows_; }
  std::span<const CommandSpec* const> SubcommandsOf(const CommandSpec& container) const;

 private:
  static constexpr std::size_t kSlots = 1024;
  // A name of up to 8 letters as one number, so that it can be compared in one operation.
  struct ShortName {
    std::uint64_t word = 0;
    std::size_t bytes = 0;
    std::size_t row = kNone;
  };

  void Enter(std::string_view name, std::size_t row);

  std::vector<const CommandSpec*> rows_;
  // an open-addressing table by name; values are indexes in rows_ + 1
  std::array<std::uint16_t, kSlots> slots_{};
  std::array<ShortName, kSlots>
      short_names_;  // by word; if two names collide, the later one is only in slots_
};

}  // namespace fairlock::command
