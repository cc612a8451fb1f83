// The whole terminal, and its keys.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cli/base/clock.h"
#include "cli/output/screen.h"
#include "cli/top/frame.h"

namespace fairlock::cli {

// Keys that are no character.
enum class SpecialKey : std::uint8_t { kNone, kUp, kDown, kEnter, kBack, kErase };

struct Keystroke {
  SpecialKey special = SpecialKey::kNone;
  char character = '\0';  // '\0': a special key, or none came

  bool is_any() const { return special != SpecialKey::kNone || character != '\0'; }
};

// Takes the terminal over while it lives; only one at a time. The only part that knows ncurses.
class TerminalScreen {
 public:
  explicit TerminalScreen(bool has_colours);
  ~TerminalScreen();
  TerminalScreen(const TerminalScreen&) = delete;
  TerminalScreen& operator=(const TerminalScreen&) = delete;

  std::size_t columns() const;
  std::size_t rows() const;

  // What does not fit is left out.
  void Draw(const Frame& frame);

  // Waits at most so long; a change of the terminal's size ends the wait too.
  Keystroke ReadKey(DurationMs patience_ms);
};

}  // namespace fairlock::cli
