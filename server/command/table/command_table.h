// The commands: one row each, found by name.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

namespace fairlock::command {

struct Invocation;

// As COMMAND shows them.
enum CommandFlag : std::uint32_t {
  kWrite = 1U << 0,
  kReadOnly = 1U << 1,
  kFast = 1U << 2,
  kBlocking = 1U << 3,
  kAdmin = 1U << 4,
  kDangerous = 1U << 5,
  kConnection = 1U << 6,
  kNoAuth = 1U << 7,
  kContainer = 1U << 8,  // has subcommands and yet a handler, for when it stands alone
  kPubsub = 1U << 9,
  kWhileConfined = 1U << 10,  // allowed to a subscriber in RESP2; not shown
  kTakesLock = 1U << 11,      // refused while the disk is nearly full
  kOnlyWhenReady =
      1U << 12,           // refused while locks are loaded, as kWrite and kReadOnly are; not shown
  kNoMulti = 1U << 13,    // not allowed between MULTI and EXEC
  kNotQueued = 1U << 14,  // executed at once between MULTI and EXEC; not shown
  kNoScript = 1U << 15,   // no script may call it
  kUnowned = 1U << 16,    // may end or change what others hold: a category, not shown as a flag
  kGrows = 1U << 17,      // refused while memory is short, whatever it is about; not shown
};

// What a command does with its keys, as Redis says it: by the flags of the command, or else.
enum class KeyEffect : std::uint8_t {
  kDefault,             // RW access update; RO access
  kChange,              // RW access update, although the command itself is none that writes
  kTest,                // RO: looks at it, not at its value
  kUpdate,              // RW update
  kOverwrite,           // OW update
  kInsert,              // OW insert
  kDelete,              // RM delete
  kAccessDelete,        // RW access delete
  kOverwriteUnlessGet,  // SET: RW access update with GET, else OW update
};

// Where the keys stand among the arguments; first 0: there are none. As in Redis, last -1 is the
// last argument.
struct KeyPositions {
  int first = 0;
  int last = 0;
  int step = 0;
  bool is_counted = false;  // the argument before the first says how many there are
  KeyEffect effect = KeyEffect::kDefault;
  bool may_be_none = false;  // although there are positions
};

inline constexpr KeyPositions kFirstKey = {1, 1, 1};
inline constexpr KeyPositions kEveryKey = {1, -1, 1};

constexpr KeyPositions With(KeyPositions keys, KeyEffect effect) {
  keys.effect = effect;
  return keys;
}

struct CommandSpec {
  std::string_view name;         // upper case; of a subcommand "CLIENT|LIST"
  void (*handler)(Invocation&);  // null: has subcommands only
  int arity;                     // with the name; negative: at least that many
  std::uint32_t flags;
  KeyPositions keys;
  // "lock", "redis", "scripts", "pubsub", "transactions", "connection" or "server".
  std::string_view group;
  std::string_view syntax;      // the arguments in the notation of docs/COMMANDS.md
  std::string_view summary;     // one sentence without full stop
  std::string_view complexity;  // "O(1)"
  std::string_view since = "0.1.0";
};

// Whether requests name a second word to say which command they mean.
constexpr bool HasSubcommands(const CommandSpec& spec) {
  return spec.handler == nullptr || (spec.flags & kContainer) != 0;
}

constexpr bool IsSubcommand(const CommandSpec& spec) {
  return spec.name.find('|') != std::string_view::npos;
}

// `arguments` counts the name, of a subcommand both.
constexpr bool FitsArity(const CommandSpec& spec, std::size_t arguments) {
  const auto count = static_cast<int>(arguments);
  return spec.arity >= 0 ? count == spec.arity : count >= -spec.arity;
}

// Immutable once made. Find is O(1) and allocates nothing.
class CommandTable {
 public:
  explicit CommandTable(std::initializer_list<std::span<const CommandSpec>> families);

  static constexpr std::size_t kNone = ~std::size_t{0};

  // The place in rows() of the command of that name, whatever its case, or kNone. A subcommand is
  // found by "CONTAINER|NAME".
  std::size_t IndexOf(std::string_view name) const;
  std::size_t IndexOfSubcommand(const CommandSpec& container, std::string_view name) const;
  // The same as a row, or null.
  const CommandSpec* Find(std::string_view name) const;

  // All rows in the order of their families, subcommands after their container.
  std::span<const CommandSpec* const> rows() const { return rows_; }
  std::span<const CommandSpec* const> SubcommandsOf(const CommandSpec& container) const;

 private:
  static constexpr std::size_t kSlots = 512;
  // Of a name of up to 8 letters, which as one number is compared at once.
  struct ShortName {
    std::uint64_t word = 0;
    std::size_t bytes = 0;
    std::size_t row = kNone;
  };

  void Enter(std::string_view name, std::size_t row);

  std::vector<const CommandSpec*> rows_;
  std::array<std::uint16_t, kSlots> slots_{};  // open addressing by name; place in rows_ + 1
  std::array<ShortName, kSlots>
      short_names_;  // by word; where two meet, the later is in slots_ only
};

}  // namespace fairlock::command
