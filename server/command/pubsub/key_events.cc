#include "server/command/pubsub/key_events.h"

#include <algorithm>
#include <array>

namespace fairlock::command {

namespace {

struct ClassLetter {
  char letter;
  KeyEventClasses classes;
};

constexpr auto kClassLetters = std::to_array<ClassLetter>({
    {'A', kAllEvents},
    {'g', kGenericEvents},
    {'$', kStringEvents},
    {'l', kListEvents},
    {'s', kSetEvents},
    {'h', kHashEvents},
    {'z', kSortedSetEvents},
    {'x', kExpiredEvents},
    {'e', kEvictedEvents},
    {'t', kStreamEvents},
    {'d', kModuleEvents},
    {'n', kNewKeyEvents},
    {'K', kToKeySpace},
    {'E', kToKeyEvent},
    {'m', kKeyMissEvents},
});

}  // namespace

std::optional<KeyEventClasses> ParseKeyEventClasses(std::string_view letters) {
  KeyEventClasses classes = 0;
  for (const char letter : letters) {
    const auto* found = std::find_if(kClassLetters.begin(), kClassLetters.end(),
                                     [&](const ClassLetter& row) { return row.letter == letter; });
    if (found == kClassLetters.end()) return std::nullopt;
    classes |= found->classes;
  }
  return classes;
}

std::string FormatKeyEventClasses(KeyEventClasses classes) {
  std::string letters;
  // After A, only the letters that A does not include are shown. As in Redis, n is then left out.
  const bool has_all = (classes & kAllEvents) == kAllEvents;
  KeyEventClasses left = has_all ? classes & ~kNewKeyEvents : classes;
  for (const ClassLetter& row : kClassLetters) {
    if ((left & row.classes) != row.classes) continue;
    letters += row.letter;
    left &= ~row.classes;
  }
  return letters;
}

}  // namespace fairlock::command
