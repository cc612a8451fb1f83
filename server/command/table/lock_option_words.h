// The options of LOCK and MLOCK, for code that skips an option without reading its value.
#pragma once

#include <array>
#include <string_view>

namespace fairlock::command {

struct LockOptionWord {
  std::string_view word;
  bool has_value = false;    // the next argument belongs to the option, whatever its text is
  bool stands_alone = true;  // false: only right after another option, like GRACE after SESSION
};

// In the order in which errors list them.
inline constexpr auto kLockOptionWords = std::to_array<LockOptionWord>({
    {"EX", true},
    {"PX", true},
    {"WAIT", true},
    {"KEEP", true},
    {"LIMIT", true},
    {"SHARED"},
    {"SESSION"},
    {"GRACE", true, false},
    {"MINHOLD", true},
    {"NEW"},
    {"MAXWAITERS", true},
    {"NOTIFY", true},
    {"META", true},
    {"LABEL", true},
    {"EXPLAIN"},
});

}  // namespace fairlock::command
